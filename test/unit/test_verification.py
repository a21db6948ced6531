"""Use before definition, dominance, structure: what xDSL's verifier leaves out."""

import pytest
from hypothesis import given, strategies as st
from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, scf, test
from xdsl.ir import Block, Region
from xdsl.irdl.dominance import DominanceInfo

from xdsl_neuron.parsing import parse_module
from xdsl_neuron.verification import Dominance, verification_errors


def errors(text: str) -> list[str]:
    """`line: message` for each error of a text."""
    ctx = Context()
    for dialect in (
        arith.Arith,
        builtin.Builtin,
        cf.Cf,
        func.Func,
        scf.Scf,
        test.Test,
    ):
        ctx.load_dialect(dialect)
    found = verification_errors(parse_module(ctx, text, "k.mlir"))
    return [f"{d.location.line if d.location else None}: {d.message}" for d in found]


DEF = '%a = "test.op"() : () -> i32\n'
USE = '"test.op"(%a) : (i32) -> ()\n'
BEFORE = "'test.op' op operand #0 is used before its definition"
OUTSIDE = (
    "'test.op' op operand #0 is defined in a region that does not enclose this use"
)


def nest(body: str, results: str = "()") -> str:
    return f'"test.op"() ({{\n{body}"test.termop"() : () -> ()\n}}) : () -> {results}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DEF + USE, []),
        (USE + DEF, [f"1: {BEFORE}"]),
        ('%a = "test.op"(%a) : (i32) -> i32', [f"1: {BEFORE}"]),
        ("%a = " + nest(USE, "i32"), [f"2: {BEFORE}"]),
        (DEF + nest(USE), []),
        (nest(USE) + DEF, [f"2: {BEFORE}"]),
        (nest(USE) + nest(DEF), [f"2: {OUTSIDE}"]),
    ],
)
def test_use_before_definition(text: str, expected: list[str]) -> None:
    assert errors(text) == expected


CFG = """func.func @f(%c: i1) {{
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %a = arith.constant 1 : i32
  cf.br ^bb3
^bb2:
  cf.br {to_bb3}
^bb3:
  "test.op"(%a) : (i32) -> ()
  func.return
^bb4:
  "test.op"(%a) : (i32) -> ()
  func.return
}}
"""


def test_values_of_other_blocks_must_dominate() -> None:
    message = "9: 'test.op' op operand #0 does not dominate this use"
    assert errors(CFG.format(to_bb3="^bb3")) == [message]
    assert errors(CFG.format(to_bb3="^bb1")) == []  # ^bb4 is not reachable


def test_block_structure() -> None:
    text = """func.func @f() {
  "test.op"() ({
    %a = arith.constant 1 : i32
  }) : () -> ()
  "test.op"() ({
  ^bb0:
  }) : () -> ()
  cf.br ^bb1
  func.return
^bb1:
  func.return
}
"""
    assert errors(text) == [
        "3: 'arith.constant' op must be a terminator, as the last of its block",
        "5: 'test.op' op expects its block to end in a terminator, but it is empty",
        "8: 'cf.br' op with successors must terminate its block",
        "8: 'cf.br' op 'cf.br' must be the last operation in its parent block",
    ]


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """The successors of each block of a region; the first is the entry."""
    size = draw(st.integers(1, 9))
    # The entry has no predecessors, as MLIR demands.
    block = st.lists(st.integers(1, size - 1), max_size=3) if size > 1 else st.just([])
    return draw(st.lists(block, min_size=size, max_size=size))


@given(graphs())
def test_dominance_is_that_of_the_textbook(successors: list[list[int]]) -> None:
    blocks = [Block() for _ in successors]
    region = Region(blocks)
    for block, targets in zip(blocks, successors, strict=True):
        block.add_op(test.TestTermOp(successors=[blocks[target] for target in targets]))
    reachable = {0}
    stack = [0]
    while stack:
        new = set(successors[stack.pop()]) - reachable
        reachable |= new
        stack += new
    # xDSL lets an unreachable predecessor count, so compare on the reachable part.
    part = Region([Block() for _ in reachable])
    index = {old: new for new, old in enumerate(sorted(reachable))}
    copies = list(part.blocks)
    for old, new in index.items():
        targets = [copies[index[target]] for target in successors[old]]
        copies[new].add_op(test.TestTermOp(successors=targets))
    expected = DominanceInfo(part)
    found = Dominance(region)
    for a, new_a in index.items():
        for b, new_b in index.items():
            assert found.dominates(blocks[a], blocks[b]) == expected.dominates(
                copies[new_a], copies[new_b]
            )
    for a in range(len(blocks)):
        for b in set(range(len(blocks))) - reachable:
            assert found.dominates(blocks[a], blocks[b])
