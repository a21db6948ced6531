"""The passes as the driver and other xDSL tools see them."""

from dataclasses import fields
from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xdsl_neuron import passes
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects import bir, penguin
from xdsl_neuron.passes import convert_penguin_to_bir as conversion, get_all_passes
from xdsl_neuron.passes.pipelines import (
    BirToDma,
    NeuronPipeline,
    PenguinToBir,
    Pipeline,
)

SINGLE = [
    name for name, load in get_all_passes().items() if not issubclass(load(), Pipeline)
]


@pytest.mark.parametrize("name", get_all_passes())
def test_a_pass_has_its_name_and_says_what_it_needs(name: str) -> None:
    found = get_all_passes()[name]()
    assert issubclass(found, ModulePass)
    assert found.name == name
    documented = found.__doc__ or ""
    assert "Postcondition" in documented or name == "neuron"


@pytest.mark.parametrize("name", SINGLE)
def test_a_pass_is_the_module_of_its_name(name: str) -> None:
    folder = Path(passes.__file__).parent
    assert (folder / f"{name.replace('-', '_')}.py").is_file()
    tests = Path(__file__).parent.parent / "passes"
    assert (tests / f"{name}.mlir").is_file()


def test_pipelines_hand_on_their_options() -> None:
    first, second = NeuronPipeline(5, 6).steps()
    assert first == PenguinToBir()
    assert second == BirToDma(5, 6)
    unroll, _, lower = BirToDma(5, 6).steps()
    assert [getattr(unroll, f.name) for f in fields(unroll)] == [5]
    assert [getattr(lower, f.name) for f in fields(lower)] == [6]


def test_every_penguin_operation_has_a_handler() -> None:
    without = [
        operation
        for operation in penguin.Penguin.operations
        if conversion.handler_of(operation) is None
    ]
    assert without == [penguin.FuncOp]


def test_an_instruction_of_bir_is_no_instruction_of_penguin() -> None:
    assert conversion.handler_of(bir.LoadOp) is None


def test_a_handler_can_be_registered() -> None:
    from levels import after

    source = """
      penguin.func @f() {
        %s = penguin.alloc : <64x32xbf16, sbuf>
        %p = penguin.alloc : <32x64xbf16, psum>
        penguin.transpose %p <- %s
        penguin.return
      }
    """
    convert = conversion.ConvertPenguinToBir()
    with pytest.raises(DiagnosticError, match="on the tensor engine"):
        after(source, convert)
    known = conversion.handler_of(penguin.TransposeOp)
    assert known is not None

    def drop(_: conversion.Conversion, __: Operation) -> None:
        pass

    conversion.register_handler(penguin.TransposeOp, drop)
    try:
        assert "transpose" not in after(source, convert)
    finally:
        conversion.register_handler(penguin.TransposeOp, known)
