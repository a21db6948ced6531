"""Our parser against xDSL's: the same tokens and attributes, plus locations."""

import sys

import pytest
from hypothesis import example, given, strategies as st
from xdsl.context import Context
from xdsl.dialects import builtin, get_all_dialects
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.parsing import FastLexer, parse_module, recursion_room
from xdsl_neuron.testing import printed, reread

FRAGMENTS = [
    *'%#!^@:,(){}[]<>=+-/*?|.0x1e_$ \t\n\\"aZé²',
    *("->", "{-#", "#-}", "...", "//", "// c\n", "0x1F", "1.5e-3", "128x", '"s"', "00"),
]


def tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, str]]:
    """The tokens up to the end or the first error."""
    found: list[tuple[MLIRTokenKind, str]] = []
    try:
        while not found or found[-1][0] is not MLIRTokenKind.EOF:
            token = lexer.lex()
            found.append((token.kind, f"{token.span!r}"))
    except ParseError as error:
        found.append((MLIRTokenKind.EOF, f"error {error.span!r}"))
    return found


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20))
def test_tokens_are_those_of_xdsl(fragments: list[str]) -> None:
    # xDSL takes a numeric character of any script for the first digit of a number.
    text = "".join(fragments)
    ours = tokens(FastLexer(Input(text, "k")))
    theirs = tokens(MLIRLexer(Input(text, "k")))
    if "²" in text:
        common = min(len(ours), len(theirs)) - 1
        assert ours[:common] == theirs[:common]
    else:
        assert ours == theirs


def context() -> Context:
    ctx = Context()
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


def module(text: str) -> ModuleOp:
    return parse_module(context(), text, "k.mlir")


@pytest.mark.parametrize(
    "attribute",
    [
        '!test.type<"a">',
        '!test.type<"<">',
        "!llvm.struct<(i32, !llvm.array<2 x i64>)>",
        "!llvm.struct<(!llvm.struct<(!llvm.struct<()>)>)>",
        "!pdl.range<value>",
        "tuple<i32, !pdl.value, !pdl.range<type>>",
        "!llvm.func<void (!llvm.array<2 x i8>, ...)>",
        "#builtin.int<3>",
        "#arith.fastmath<fast>",
        "#arith.overflow<none>",
        "!alias",
        "#alias",
    ],
)
def test_a_repeated_attribute_is_the_same_as_xdsl_parses(attribute: str) -> None:
    attributes = f"{{a = {attribute}, b = [{attribute} , {attribute}]}}"
    text = f'!alias = i32\n#alias = 3 : i32\n"test.op"() {attributes} : () -> ()\n'
    expected = Parser(context(), text, "k.mlir").parse_module()
    assert module(text).is_structurally_equivalent(expected)


def test_every_operation_has_the_place_of_its_name() -> None:
    found = module(
        "\n"
        '%a, %b = "test.op"() ({\n'
        '  "test.op"() : () -> () loc("x.py":7:8)\n'
        '  "test.termop"() : () -> () loc(unknown)\n'
        '}) : () -> (i32, i32) "test.op"() : () -> ()\n'
    )

    def place(file: str, line: int, column: int) -> FileLineColLoc:
        return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))

    assert [op.location for op in found.walk()] == [
        place("k.mlir", 1, 1),
        place("k.mlir", 2, 10),
        place("x.py", 7, 8),
        builtin.UnknownLoc(),
        place("k.mlir", 5, 23),
    ]


def test_recursion_room_is_given_back() -> None:
    before = sys.getrecursionlimit()
    with recursion_room(1000):
        assert sys.getrecursionlimit() == 41000
    assert sys.getrecursionlimit() == before


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
@example(".")
@example("$a")
@example("9")
@example('a\nb\t"\\0A"\x00\x7f')
def test_any_name_reads_back(name: str) -> None:
    module = reread(
        "%t = penguin.alloc : <4x4xf32, sbuf>\npenguin.memset %t {value = 0.0}"
    )
    (fill,) = (op for op in module.walk() if isinstance(op, Instruction))
    fill.properties["inst_name"] = StringAttr(name)
    assert reread(printed(module)).is_structurally_equivalent(module)
