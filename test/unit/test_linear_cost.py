"""
Twice as many operations cost twice as much: nothing looks at a function once for each.

Cost is counted in calls of functions, which are the same in every run.
"""

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from levels import arguments
from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.machine import prepare
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.passes import get_all_passes
from xdsl_neuron.testing import context
from xdsl_neuron.verification import verification_errors

FEW, MANY = 200, 400


def function(*lines: str) -> str:
    """A function of these lines."""
    return "\n".join(("bir.func @f {", *lines, "bir.return", "}"))


def repeated(count: int, *lines: str) -> list[str]:
    """Each line `count` times, `#` replaced by the number."""
    return [line.replace("#", str(k)) for line in lines for k in range(count)]


def semaphores(count: int) -> str:
    """Each is waited for and updated."""
    body = "bir.no_op @I# {on_wait = [SEM_GE_IMM @s# 1], on_update = [SEM_INC @s#]}"
    return function(*repeated(count, "bir.semaphore @s#", body))


def events(count: int) -> str:
    """Each is set."""
    body = "bir.event_semaphore @I# {on_update = [EVENT_SET @e#], engine = PE}"
    return function(*repeated(count, "bir.event @e#", body))


def queues(count: int) -> str:
    """Each is reset."""
    queue = 'bir.queue @q# {instances = ["a"]}'
    reset = 'bir.reset_queue_instance @I# {queue = "q#", instance = "a"}'
    return function(*repeated(count, queue, reset))


def instances(count: int) -> str:
    """Each instance of one queue is switched to, in turn."""
    names = ", ".join(f'"a{k}"' for k in range(count))
    switch = 'bir.switch_queue_instance @I# {queue = "q", instance = "a#"}'
    queue = f"bir.queue @q {{instances = [{names}]}}"
    return function(queue, *repeated(count, switch))


def triggers(count: int) -> str:
    """Each is followed by a reset of its queue."""
    return function(
        'bir.queue @q {instances = ["a"]}',
        "%a = bir.location @a ExternalInput : <8x8xf32, hbm>",
        "%b = bir.location @b ExternalOutput : <8x8xf32, hbm>",
        "dma.block @d { dma.copy f32 f32 %b[0][4 x 64] <- %a[0][4 x 64] }",
        *repeated(
            count,
            'bir.reset_queue_instance @R# {queue = "q", instance = "a"}\n'
            'bir.dma_trigger @I# [@d] {engine = SP, queue = "q"}',
        ),
    )


def blocks(count: int) -> str:
    """Each basic block branches to the first or to the next one."""
    branch = (
        "bir.basic_block @b# {\nbir.branch_hint @H# {hint = LikelyTaken, "
        'associate_branch = "B#"}\nbir.unconditional_branch @B# {target = "b#"}\n}'
    )
    return function(*repeated(count, branch))


def calls(count: int) -> str:
    """Each function calls another one."""
    return "\n".join(
        f'bir.func @f{k} {{\nbir.call @I {{target = "f{(k + 1) % count}"}}\n}}'
        for k in range(count)
    )


def kernels(count: int) -> str:
    """Each follows the one before."""
    call = 'bir.nki_kernel @I# (%a) <- (%a) {func = "f", after = [flow "I0"]}'
    return function("%a = bir.location @a : <8x8xf32, sbuf>", *repeated(count, call))


def iterations(count: int) -> str:
    """A loop of instructions that follow each other, and those behind it."""
    return function(
        "%t = bir.location @t : <128x8xf32, sbuf>",
        f"bir.loop sequential %i = 0 to {count} {{",
        'bir.memset @A %t {value = 0.0, after = [output "B"]}',
        'bir.memset @B %t {value = 0.0, after = [output "A"]}',
        "}",
        'bir.basic_block @b {\nbir.memset @C %t {value = 0.0, after = [output "A"]}\n}',
    )


def cost(run: Callable[[], object]) -> int:
    """How many functions are called, those written in C too."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(previous)
    return calls


def module(text: str) -> ModuleOp:
    """The module, which is legal."""
    found = parse_module(context(), text, "test.mlir")
    assert verification_errors(found) == []
    return found


def ratio(text: Callable[[int], str], run: Callable[[ModuleOp], object]) -> float:
    """How much more twice as many operations cost."""
    few, many = module(text(FEW)), module(text(MANY))
    run(module(text(FEW)))
    return cost(lambda: run(many)) / cost(lambda: run(few))


CONTAINERS = (
    semaphores, events, queues, instances, triggers, blocks, calls, kernels, iterations,
)  # fmt: skip


@pytest.mark.parametrize("text", CONTAINERS)
def test_verification_is_linear(text: Callable[[int], str]) -> None:
    assert ratio(text, verification_errors) < 2.2


@pytest.mark.parametrize("text", [t for t in CONTAINERS if t is not calls])
def test_verification_by_xdsl_is_linear(text: Callable[[int], str]) -> None:
    assert ratio(text, lambda found: found.verify()) < 2.2


@pytest.mark.parametrize("text", [semaphores, queues, triggers])
def test_plans_are_linear(text: Callable[[int], str]) -> None:
    def run(found: ModuleOp) -> None:
        program = prepare(found)
        program.run(arguments(program))

    assert ratio(text, run) < 2.2


@pytest.mark.parametrize("text", [kernels, iterations, blocks])
def test_unrolling_is_linear(text: Callable[[int], str]) -> None:
    unroll = get_all_passes()["bir-unroll"]()
    assert ratio(text, lambda found: unroll().apply(context(), found)) < 2.2
