"""What is not computing: no-ops, copies, prints, ranks, and what is refused."""

import numpy as np
import pytest
from levels import after, parse
from numpy.typing import NDArray

from xdsl_neuron.machine import MachineError, prepare
from xdsl_neuron.machine.summary import summarize
from xdsl_neuron.machine.system import REFUSED
from xdsl_neuron.passes.bir_unroll import BirUnroll
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

PROGRAM = """
builtin.module attributes {{neuron.target = #neuron.target<{target}>}} {{
bir.func @f {{
  bir.semaphore @s
  bir.event @e
  bir.queue @q {{type = data, instances = ["q.0"]}}
  bir.queue @p {{type = data, instances = ["p.0"]}}
  %a = bir.location @a ExternalInput : <8x16xf32, hbm>
  %i = bir.location @i ExternalInput : <1x4xi32, hbm>
  %c = bir.location @c ExternalOutput : <8x16xf32, hbm>
  %x = bir.location @x : <8x16xf32, hbm>
  %t = bir.location @t : <8x16xf32, sbuf>
  %u = bir.location @u : <8x16xf32, sbuf>
  %v = bir.location @v : <8x1xf32, sbuf>
  %w = bir.location @w : <8x1xu64, sbuf>
  bir.memset @clear %v {{value = 0.0}}
  bir.memset @clear2 %u {{value = 0.0}}
  bir.load @load %t <- %a
  %r = bir.tensor_load @L %i[2][1 x 1]
  {body}
  bir.save @save %c <- %u
  bir.return c = %c
}}
}}
"""
COPY = "bir.tensor_copy @copy %u <- %t"


def run(body: str, target: str = "trn2", number: int = 5) -> NDArray[np.float32]:
    program = prepare(parse(PROGRAM.format(body=body, target=target)))
    a = np.arange(128, dtype=np.float32).reshape(8, 16)
    (c,) = program.run([a, np.array([[0, 0, number, 0]], np.int32)])
    return c


def expected() -> NDArray[np.float32]:
    return np.arange(128, dtype=np.float32).reshape(8, 16)


@pytest.mark.parametrize(
    "nothing",
    [
        "bir.no_op @I0 {on_wait = [SEM_GE_IMM @s 4]}",
        "bir.event_semaphore @I0 {on_wait = [SEM_GE_REG @s %r]}",
        "bir.event_semaphore @I0 {on_update = [EVENT_SET @e]}",
        "bir.group_reset_semaphores @I0 {engine = SP, sema_group = [1]}",
        "bir.all_engine_barrier @I0",
        "bir.drain @I0",
        "bir.halt @I0",
        "bir.core_barrier @I0 {cores = [0]}",
        'bir.switch_queue_instance @I0 {queue = "q", instance = "q.0"}',
        'bir.reset_queue_instance @I0 {queue = "q", instance = "q.0"}',
        "bir.tensor_completion @I0 src = %t",
        "bir.load_act_func_set @I0",
    ],
)
def test_in_program_order_it_does_nothing(nothing: str) -> None:
    np.testing.assert_array_equal(run(f"{nothing}\n{COPY}"), expected())


@pytest.mark.parametrize("copy", ["generic_copy", "abstract_copy", "tensor_copy"])
def test_copies(copy: str) -> None:
    np.testing.assert_array_equal(run(f"bir.{copy} @I0 %u <- %t"), expected())


def test_dynamic_copies() -> None:
    source = run(
        "bir.tensor_copy_dynamic_src @I0 %u[0, 1][1 x 8, 1 x 4] <- "
        "%t[0, %r * 2][1 x 8, 1 x 4] {scale = 2, engine = Pool}"
    )
    np.testing.assert_array_equal(source[:, 1:5], expected()[:, 10:14])
    assert not source[:, 5:].any()
    target = run(
        "bir.tensor_copy_dynamic_dst @I0 %u[0, %r][1 x 8, 1 x 4] <- "
        "%t[0, 1][1 x 8, 1 x 4]"
    )
    np.testing.assert_array_equal(target[:, 5:9], expected()[:, 1:5])
    assert not target[:, :5].any()


@pytest.mark.parametrize(
    "kind",
    [
        "AllReduce %x <- %a2 {op = add}",
        "AllGather %x <- %a2 {replica_groups = [[0], [1]]}",
        "ReduceScatter %x <- %a2 {op = max}",
        "AllToAll %x <- %a2",
        "Permute %x <- %a2 {src_target_pairs = [[0, 0]]}",
        "PermuteImplicit %x <- %a2",
    ],
)
def test_a_collective_of_one_rank_is_a_copy(kind: str) -> None:
    body = f"""
      %a2 = bir.location @a2 : <8x16xf32, hbm>
      bir.dma_copy @I0 %a2 <- %a
      bir.collective_compute @I1 {kind}
      bir.load @I2 %u <- %x
    """
    np.testing.assert_array_equal(run(body), expected())


def test_a_permutation_of_one_rank_that_sends_nothing() -> None:
    """What no rank sends to stays as it was."""
    body = """
      bir.memset @I0 %u {value = 3.0}
      bir.save @I1 %x <- %u
      %a2 = bir.location @a2 : <8x16xf32, hbm>
      bir.dma_copy @I4 %a2 <- %a
      bir.collective_compute @I2 Permute %x <- %a2
      bir.load @I3 %u <- %x
    """
    np.testing.assert_array_equal(run(body), np.full_like(expected(), 3.0))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "Permute %x <- %a2 {src_target_pairs = [[0, 1]]}",
            r"a rank of the pairs is none of \[0\]",
        ),
        ("AllReduce %x <- %a2 {op = add, replica_groups = [[0, 1]]}", "other ranks"),
        ("AllReduce %x <- %a2 {op = add, replica_groups = [[1]]}", "is in none of"),
    ],
)
def test_what_one_rank_cannot_do(kind: str, message: str) -> None:
    with pytest.raises(MachineError, match=message):
        run(
            "%a2 = bir.location @a2 : <8x16xf32, hbm>\n"
            f"bir.dma_copy @I0 %a2 <- %a\nbir.collective_compute @I2 {kind}"
        )


def test_the_rank_of_one() -> None:
    body = """
      %rank = bir.get_global_rank_id @I0 {world_size = 1}
      bir.tensor_copy_dynamic_src @I1 %u <- %t[0, %rank][1 x 8, 1 x 16]
    """
    np.testing.assert_array_equal(run(body), expected())


@pytest.mark.parametrize("buffer", ["stdout", "stderr"])
def test_prints(buffer: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(
        f"""bir.device_print @I0 %t[2, 1][1 x 2, 1 x 3]
        {{prefix = "t = ", output_buffer = {buffer}}}"""
    )
    captured = capsys.readouterr()
    shown = "t = [[33. 34. 35.]\n [49. 50. 51.]]\n"
    assert (captured.out, captured.err) == (
        (shown, "") if buffer == "stdout" else ("", shown)
    )


@pytest.mark.parametrize("level", range(3))
def test_prints_at_every_level(level: int, capsys: pytest.CaptureFixture[str]) -> None:
    penguin = """
    builtin.module {
      penguin.func @f(a = %a: !neuron.tensor<2x2xi32, hbm>) {
        %t = penguin.alloc : <2x2xi32, sbuf>
        penguin.sb_atom_load %t <- %a
        penguin.for sequential %i = 0 to 2 {
          penguin.device_print %t[%i, 0][1 x 1, 1 x 2] {prefix = ""}
        }
        penguin.return
      }
    }"""
    text = penguin
    if level:
        text = after(text, PenguinToBir())
    if level > 1:
        text = after(text, BirToDma())
    program = prepare(parse(text))
    program.run([np.array([[1, 2], [3, 4]], np.int32)])
    assert capsys.readouterr().out == "[[1 2]]\n[[3 4]]\n"
    program.run([np.array([[5, 6], [7, 8]], np.int32)])
    assert capsys.readouterr().out == "[[5 6]]\n[[7 8]]\n"


REFUSALS = {
    "bir.basic_block @b {\n}": "is control flow between basic blocks",
    "bir.exit @I0": "is control flow between basic blocks",
    'bir.call @I0 {target = "g"}': "calls another function",
    "bir.read_var_addr @I0 %w <- %a": "works on memory addresses",
    "bir.indirect_load @I0 %t <- %w": "works on memory addresses",
    "bir.indirect_save @I0 %t, %w": "works on memory addresses",
    "bir.gpsimd_sb2sb @I0 %u <- %t": "copies between cores",
    "bir.collective_send @I0 %t {peer_id = 1}": "needs other ranks",
    "bir.collective_recv @I0 %t {peer_id = 1}": "needs other ranks",
    "%k = bir.get_global_rank_id @I0 {world_size = 2}": "the machine runs as 1 rank",
    "%k = bir.get_cur_processing_rank_id @I0 "
    "{iter_id = 0, channel_id = 0, replica_groups = [[1]]}": "is in none of the replic",
    "bir.collective_compute @I0 AllReduce %x <- %y "
    "{op = add, replica_groups = [[0, 1]]}": "needs other ranks",
    "bir.collective_compute @I0 SendRecv %x <- %y "
    "{recv_from_rank = [0], send_to_rank = [0]}": "needs other ranks",
    "bir.collective_compute @I0 Permute %x <- %y "
    "{src_target_pairs = [[0, 1]]}": "a rank of the pairs is none of",
    "bir.collective_compute @I0 Permute %x <- %y "
    "{permute_chain = [0]}": "permute_chain, which has no documented meaning",
    "bir.collective_compute @I0 AllReduce %x <- %y "
    "{op = add, src1_bitmap = 1}": "src1_bitmap, which has no documented meaning",
    "bir.collective_compute @I0 AllReduce %x <- %y "
    "{op = add, src_target_pairs = [[0, 0]]}": "which AllReduce has no use for",
    "bir.collective_compute @I0 AllToAll %x <- %y "
    "{recv_from_rank = [0], send_to_rank = [0]}": "which AllToAll has no use for",
    "bir.collective_compute @I0 PermuteReduceImplicit %x <- %y "
    "{op = add}": "is not executed by the machine",
    "bir.generic_relu @I0 %u <- %t": "has no documented meaning",
    "bir.tonga_reduce_macro_symbolic @I0 add %v <- %t {reduce_axes = [1]}": "is a mac",
    'bir.nki_kernel @I0 (%x) <- (%a) {func = "f"}': "is code the machine does not",
    "bir.inline_asm_bytes @I0 () <- () {asm_bytes = [1]}": "is code the machine does",
}


@pytest.mark.parametrize("body", REFUSALS)
def test_it_is_refused(body: str) -> None:
    source = PROGRAM.format(
        body=f"%y = bir.location @y : <8x16xf32, hbm>\n{body}", target="trn2"
    ).replace("bir.func @f", "bir.func @g {\nbir.return\n}\nbir.func @f")
    if body.startswith("bir.exit"):
        source = source.replace(body, f"bir.basic_block @b {{\n{body}\n}}")
    with pytest.raises(MachineError, match=REFUSALS[body]):
        prepare(parse(source), entry="f")


def test_the_summary_counts_by_engine() -> None:
    text = """
    bir.func @f {
      %i = bir.location @i ExternalInput : <1x4xi32, hbm>
      bir.no_op @I0 {engine = SP}
      bir.all_engine_barrier @I1
      %r = bir.tensor_load @I2 %i[0][1 x 1]
      bir.dynamic_for_loop %k = 0 to %r {
        bir.drain @I3 {engine = SP}
      }
      bir.return
    }
    """
    assert summarize(parse(text)).engines == {"SP": 2, "ALL": 2}


def test_every_refusal_is_tested() -> None:
    assert {reason for reason in REFUSED.values()} == {
        reason
        for reason in REFUSED.values()
        if any(start in reason for start in REFUSALS.values())
    }


def test_an_unrolled_wait_keeps_its_register() -> None:
    source = """
    builtin.module {
      bir.func @f {
        bir.semaphore @s
        %i = bir.location @i mutable ExternalInput : <1x4xi32, hbm>
        %r = bir.tensor_load @L %i[2][1 x 1]
        bir.loop sequential %k = 0 to 2 {
          bir.core_barrier @B semaphore = %i[%k][1 x 1]
            {on_wait = [SEM_GE_REG @s %r], cores = [0, 1]}
        }
      }
    }"""
    unrolled = after(source, BirUnroll())
    for iteration in range(2):
        assert (
            f"bir.core_barrier @B_k{iteration} semaphore = %i[{iteration}][1 x 1] "
            "{cores = [0, 1], on_wait = [SEM_GE_REG @s %r], "
            f'iterations = [sequential "k" {iteration}]}}'
        ) in unrolled


@pytest.mark.parametrize(
    ("between", "kept"),
    [
        ("", 1),
        ('bir.reset_queue_instance @R {queue = "q", instance = "q.0"}', 0),
        ('bir.switch_queue_instance @R {queue = "q", instance = "q.0"}', 0),
        ('bir.switch_queue_instance @R {no_rearm, queue = "q", instance = "q.0"}', 1),
        ('bir.reset_queue_instance @R {queue = "p", instance = "p.0"}', 1),
    ],
)
def test_a_queue_instance_starts_with_the_first_block(between: str, kept: int) -> None:
    """A trigger that has fired once fires its second block, unless it is rearmed."""
    body = f"""
    dma.block @first {{
      dma.copy f32 f32 %u[0, 0][1 x 8, 4 x 8] <- %a[0][64 x 8, 4 x 8]
    }}
    dma.block @second {{
      dma.copy f32 f32 %u[0, 32][1 x 8, 4 x 8] <- %a[32][64 x 8, 4 x 8]
    }}
    bir.loop sequential %k = 0 to 2 {{
      bir.dma_trigger @T [@first, @second] {{engine = SP, queue = "q"}}
      {between}
    }}
    """
    wanted = expected().copy()
    if not kept:
        wanted[:, 8:] = 0
    np.testing.assert_array_equal(run(body), wanted)
