"""Every gate has a `.mlir` test that it refuses, and a legal near miss beside it."""

import ast
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from inspect import currentframe
from pathlib import Path
from typing import Any

import pytest
from gate_audit import GateKey, Section, Trip, every_gate, recorded, sections
from xdsl.utils.exceptions import VerifyException

import xdsl_neuron.dialects
from xdsl_neuron.dialects.gate import Gate
from xdsl_neuron.testing import reread

NEVER = {
    GateKey("DmaIndirectTranspose", "direct_bounds"): "both modes are legal there",
}
"""Gates that refuse nothing: they replace one of a base class."""

UNREACHED = {
    "operand segments do not match the operands": "IRDL's own check comes first",
    "operand has type": "IRDL's own check comes first",
    "Fast dimension of source tensor": "a destination has at most 128 partitions",
    "Hardware DGE transpose src tile must have <=128": "a destination has at most 128",
    "The leading dimension of SBUF/PSUM": "the type's syntax needs a dimension",
}
"""Starts of messages of rules that another rule implies, and which."""


@contextmanager
def raising_lines() -> Generator[set[tuple[str, int]]]:
    """(file, line) of every refusal meanwhile."""
    seen = set[tuple[str, int]]()
    original = VerifyException.__init__

    def watched(self: VerifyException, *arguments: Any) -> None:
        frame = currentframe()
        assert frame is not None
        assert frame.f_back is not None
        seen.add((frame.f_back.f_code.co_filename, frame.f_back.f_lineno))
        original(self, *arguments)

    VerifyException.__init__ = watched
    try:
        yield seen
    finally:
        VerifyException.__init__ = original


@cache
def seen() -> tuple[dict[Section, tuple[Trip, ...]], frozenset[tuple[str, int]]]:
    """What gates say of each section, and the lines that raise."""
    found: dict[Section, tuple[Trip, ...]] = {}
    with raising_lines() as raised:
        for section in sections():
            with recorded() as trips:
                section.refused_lines()
            found[section] = tuple(trips)
    return found, frozenset(raised)


def test_every_gate_refuses_something() -> None:
    tripped = {trip.key for trips in seen()[0].values() for trip in trips}
    missing = [
        f"{key}: {gate.literal}"
        for key, (gate, _) in every_gate().items()
        if key not in tripped and key not in NEVER
    ]
    assert not missing, "no .mlir test of expected errors trips these gates"


def test_every_rule_is_tripped() -> None:
    """Every place of the dialects that refuses, also those of several in one gate."""
    folder = Path(xdsl_neuron.dialects.__file__).parent
    missing: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        lines = {line for name, line in seen()[1] if name == str(path)}
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or node.exc is None:
                continue
            text = ast.unparse(node.exc)
            if not text.startswith("VerifyException"):
                continue
            message = text[len("VerifyException(") :].lstrip("f'\"")
            if message.startswith(tuple(UNREACHED)):
                continue
            if not lines & set(range(node.lineno, (node.end_lineno or 0) + 1)):
                missing.append(f"{path.name}:{node.lineno}: {text}")
    assert not missing, "no .mlir test of expected errors has these messages"


def near_misses() -> list[Any]:
    """Each directive of a near miss."""
    return [
        pytest.param(section, line, legal, id=f"{section.path.stem}-{line}-{number}")
        for number, section in enumerate(sections())
        for line, legal in section.near_misses()
    ]


@pytest.mark.parametrize(("section", "line", "legal"), near_misses())
def test_near_miss(section: Section, line: int, legal: Section) -> None:
    """The line is refused; with the replacement it is not."""
    refused = section.refused_lines()
    assert refused is not None
    assert line in refused, "the line is legal already"
    after = legal.refused_lines()
    assert after is not None, "the near miss is no text"
    assert line not in after, "the near miss is refused too"


def test_gates_have_near_misses() -> None:
    """A new gate comes with one too."""
    known = set(every_gate()) - set(NEVER)
    found = set[GateKey]()
    for section, trips in seen()[0].items():
        lines = {line for line, _ in section.near_misses()}
        found |= {trip.key for trip in trips if trip.line in lines}
    missing = sorted(str(key) for key in known - found)
    assert not missing, "no legal near miss stands beside a refusal of these gates"


def test_messages_end_with_the_documented_code() -> None:
    text = """
    bir.func @f {
      %a = bir.location @a : <64x8xf32, hbm>
      %b = bir.location @b : <64x8xf32, hbm>
      bir.load @I0 %a <- %b
    }
    """
    with pytest.raises(VerifyException, match=r"goes from hbm to sbuf \[MLO001\]"):
        reread(text)


@pytest.mark.parametrize(
    ("source", "codes"),
    [
        ("dma.md 9.4 BIR049", "BIR049"),
        ("bir.md 7.5 code 75", "BIR075"),
        ("bir.md 7.5 codes 371, 319", "BIR371, BIR319"),
        ("dma.md 9.4 EDGE001, code 1698", "EDGE001, BIR1698"),
        ("bir.md 7.4 codes 230, 231, 212 to 214", "BIR230, BIR231, BIR212 to BIR214"),
        ("penguin.md 4.4", ""),
        ("nki.md 4.2", ""),
    ],
)
def test_codes_of_a_source(source: str, codes: str) -> None:
    assert Gate("", source).codes == codes
