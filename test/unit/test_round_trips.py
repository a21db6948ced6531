"""Every instruction as custom text, generic text and JSON, on every generation."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.arch import ARCHS, get_arch
from xdsl_neuron.dialects import get_all_dialects
from xdsl_neuron.dialects.bir.roster import lines, row_of
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.json import from_json, parse_document, to_json
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir
from xdsl_neuron.testing import context, printed
from xdsl_neuron.verification import verification_errors

TEST = Path(__file__).parent.parent
TARGET = re.compile(r"#neuron\.target<\w+>")
NAMES = tuple(arch.name for arch in ARCHS)
LATER = {
    "activate2": 40,
    "activate2_reduce": 40,
    "dma_indirect_transpose": 30,
    "dma_copy_gather_transpose": 30,
}
"""Forms that come later than the instruction type they are a form of."""
ARCH_RULES = re.compile(
    r"curArchLevel >|is available on|is not supported on trn1|needs level"
)


def instructions() -> dict[str, type[Instruction]]:
    """Every instruction, by name."""
    return {
        operation.name: operation
        for factory in get_all_dialects().values()
        for operation in factory().operations
        if issubclass(operation, Instruction)
    }


@cache
def first_levels() -> dict[str, int]:
    """The first level of architecture that has each instruction."""
    found = dict.fromkeys(instructions(), 20)
    for line in lines():
        for operation in (*line.operations, *line.above):
            if operation.name in found:
                found[operation.name] = line.min_level
    for operation in instructions().values():
        row = row_of(operation)
        if row is not None:
            found[operation.name] = row.min_level
    for name in found:
        found[name] = max(found[name], LATER.get(name.split(".")[1], 0))
    return found


@cache
def texts() -> tuple[str, ...]:
    """Legal modules of all levels, as many as have something new."""
    found: list[str] = []
    seen = set[str]()

    def keep(text: str, module: ModuleOp) -> None:
        names = {operation.name for operation in met(module)}
        if not names <= seen:
            seen.update(names)
            found.append(text)

    for path in sorted(
        [*TEST.glob("dialects/**/*.mlir"), *TEST.glob("programs/*.mlir")]
    ):
        text = path.read_text()
        if "expected-error" in text or "RUN: neuron-opt %s" not in text:
            continue
        if "// -----" in text or not TARGET.search(text):
            continue
        module = parse(text)
        keep(text, module)
        if path.parent.name != "programs":
            continue
        PenguinToBir().apply(context(), module)
        keep(printed(module), module)
        BirToDma(max_instructions=300).apply(context(), module)
        keep(printed(module), module)
    return tuple(found)


def parse(text: str) -> ModuleOp:
    """A module, not verified."""
    return parse_module(context(), text, "test.mlir")


@cache
def on_arch(name: str) -> tuple[ModuleOp, ...]:
    """All modules, for one generation."""
    return tuple(parse(TARGET.sub(f"#neuron.target<{name}>", text)) for text in texts())


def met(module: ModuleOp) -> Iterator[Instruction]:
    """The instructions of a module."""
    for operation in module.walk():
        if isinstance(operation, Instruction):
            yield operation


@pytest.mark.parametrize("arch", NAMES)
def test_text_and_generic_text(arch: str) -> None:
    left = set(instructions())
    for module in on_arch(arch):
        text = printed(module)
        assert printed(parse(text)) == text
        assert printed(parse(printed(module, generic=True))) == text
        left -= {operation.name for operation in met(module)}
    assert not left, "no legal file has these instructions"


@pytest.mark.parametrize("arch", NAMES)
def test_json(arch: str) -> None:
    left = {name for name in instructions() if not name.startswith("penguin.")}
    for module in on_arch(arch):
        if any(operation.name.startswith("penguin.") for operation in module.walk()):
            continue
        text = printed(module)
        again = from_json(parse_document(to_text(module), "test.json"))
        assert printed(again) == text
        left -= {operation.name for operation in met(module)}
    assert not left, "no legal file has these instructions"


def to_text(module: ModuleOp) -> str:
    """The document's text."""
    return json.dumps(to_json(module))


@pytest.mark.parametrize("arch", NAMES)
def test_who_has_what(arch: str) -> None:
    """Legal where an instruction exists; elsewhere the arch rule refuses each."""
    level = get_arch(arch).level
    legal, seen = set[str](), set[str]()
    refused: dict[str, list[str]] = defaultdict(list)
    for module in on_arch(arch):
        errors = verification_errors(module)
        for operation in met(module):
            seen.add(operation.name)
        names = [error.message for error in errors]
        bad = {n.split("'")[1] for n in names if n.startswith("'")}
        for message in names:
            if message.startswith("'"):
                refused[message.split("'")[1]].append(message)
        legal |= {operation.name for operation in met(module)} - bad
    for name, first in first_levels().items():
        assert name in seen, name
        if level >= first:
            assert name in legal, f"{name} is refused on {arch}: {refused[name]}"
        else:
            assert name not in legal, f"{name} is accepted on {arch}"
            assert all(ARCH_RULES.search(each) for each in refused[name]), refused[name]
