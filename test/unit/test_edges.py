"""Edges of instructions that go or are renamed."""

from dataclasses import dataclass

import pytest
from levels import context, parse, print_module
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)

from xdsl_neuron.dialects import bir
from xdsl_neuron.dialects.edges import remove, rename
from xdsl_neuron.dialects.scheduled import Scheduled
from xdsl_neuron.testing import apply
from xdsl_neuron.verification import verify

TEXT = """
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @f {
    %t = bir.location @t : <4x4xf32, sbuf>
    bir.memset @A %t {value = 0.0, engine = DVE}
    bir.memset @B %t {value = 1.0, engine = Pool, after = [output "A"]}
    bir.memset @C %t {value = 2.0, engine = DVE, after = [output "B"]}
    bir.memset @D %t {value = 3.0, engine = Pool, after = [output "B", ordered "C"]}
  }
}
"""
LOADS = """
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @f {
    %a = bir.location @a ExternalInput : <4x4xi32, hbm>
    %t = bir.location @t : <4x4xi32, sbuf>
    bir.load @A %t <- %a {engine = SP}
    %r = bir.tensor_load @R %a[0][1 x 1] {after = [ordered "A"]}
    %s = bir.tensor_load @S %a[0][1 x 1] {after = [ordered "A"]}
    bir.load @B %t <- %a {engine = SP, after = [ordered "S"]}
  }
}
"""


def edges(module: ModuleOp) -> dict[str | None, list[str]]:
    """What each instruction must follow, as `kind name`."""
    return {
        op.label: [f"{kind} {name}" for kind, name in op.edges]
        for op in module.walk()
        if isinstance(op, Scheduled)
    }


def named(module: ModuleOp, *names: str) -> list[Scheduled]:
    """The instructions of these names."""
    return [
        op for op in module.walk() if isinstance(op, Scheduled) and op.label in names
    ]


class DropMemsetOfOne(RewritePattern):
    """Somebody's own pattern, which knows nothing of edges."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if isinstance(op, bir.MemsetOp) and op.value.value == 1.0:
            rewriter.erase(op)


@dataclass(frozen=True)
class DropPass(ModulePass):
    """Somebody's own pass."""

    name = "drop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(DropMemsetOfOne()).rewrite_module(op)


def test_somebody_elses_pass_erases_an_instruction_with_edges() -> None:
    module = parse(TEXT)
    DropPass().apply(context(), module)
    verify(module)
    assert edges(module) == {"A": [], "C": ["output A"], "D": ["output A", "ordered C"]}


def test_instructions_that_go_together() -> None:
    module = parse(TEXT)
    remove(named(module, "B", "C"))
    verify(module)
    assert edges(module) == {"A": [], "D": ["output A", "ordered A"]}


def test_the_first_instruction_goes() -> None:
    module = parse(TEXT)
    remove(named(module, "A"))
    assert edges(module)["B"] == []
    assert "after" not in print_module(module).split("@B")[1].split("\n")[0]


def test_renaming() -> None:
    module = parse(TEXT)
    rename(module, {"B": "C", "C": "B"})
    assert edges(module)["D"] == ["output C", "ordered B"]


@pytest.mark.parametrize("generic", ["dce", "cse"])
def test_generic_passes_splice_what_they_erase(generic: str) -> None:
    module = parse(LOADS)
    apply(module, (generic,))
    verify(module)
    assert edges(module)["B"] == ["ordered A"]
