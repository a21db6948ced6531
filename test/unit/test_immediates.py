"""Any number an instruction carries is refused or computed with, at every level."""

from collections.abc import Iterator
from functools import cache

import pytest
from levels import arguments
from mutate import cases
from run_lines import ROOT
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import AluOpAttr, ImmediateAttr
from xdsl_neuron.machine import MachineError, prepare
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.passes.pipelines import NeuronPipeline
from xdsl_neuron.testing import context
from xdsl_neuron.verification import verification_errors

NUMBERS = ("inf", "nan", "0.5", "-1", "1e30", "1" + "0" * 30)
REFUSED = (DiagnosticError, MachineError, PassFailedException, VerifyException)

Place = tuple[int, str]
"""Which operation of a module, in the order of a walk, and its property."""


@cache
def examples() -> dict[str, tuple[str, Place]]:
    """For each number of each instruction, bitwise or not, a module that has it."""
    found: dict[str, tuple[str, Place]] = {}
    for case in cases(ROOT / "test"):
        try:
            module = parse_module(context(), case.text, str(case.path))
        except DiagnosticError:
            continue
        if verification_errors(module):
            continue
        for place, label in numbers_in(module):
            found.setdefault(label, (case.text, place))
    return found


def numbers_in(module: ModuleOp) -> Iterator[tuple[Place, str]]:
    """The fields that are numbers."""
    for index, operation in enumerate(module.walk()):
        if isinstance(operation, Instruction):
            kinds = {
                value.data.is_bitvec
                for value in operation.properties.values()
                if isinstance(value, AluOpAttr)
            }
            for name, value in operation.properties.items():
                if isinstance(value, ImmediateAttr):
                    yield (index, name), f"{operation.name} {name} {kinds}"


def changed(text: str, place: Place, number: str) -> ModuleOp:
    """The module with another number at a place."""
    module = parse_module(context(), text, "test.mlir")
    operation = list(module.walk())[place[0]]
    value = float(number) if not number.lstrip("-").isdigit() else int(number)
    operation.properties[place[1]] = ImmediateAttr.of(value)
    return module


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_refused_or_computed_with(number: str) -> None:
    """No instruction answers with a traceback, nor does a pass or the machine."""
    computed = 0
    for text, place in examples().values():
        for lower in (False, True):
            module = changed(text, place, number)
            if verification_errors(module):
                continue
            try:
                if lower:
                    NeuronPipeline().apply(context(), module)
                program = prepare(module)
                program.run(arguments(program))
            except REFUSED:
                continue
            computed += 1
    assert computed > 10


def test_there_are_examples() -> None:
    """The test sees the fields."""
    assert len(examples()) > 40
