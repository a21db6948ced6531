"""The roster of instruction types: ordinals, names, and what stands for each."""

import pytest
from levels import parse

from xdsl_neuron.dialects.bir import Bir
from xdsl_neuron.dialects.bir.roster import ABSTRACT, CREATED_BY, NAMES, lines, row_of
from xdsl_neuron.machine import MachineError, prepare
from xdsl_neuron.machine.analysis import executes


def test_every_row_has_its_ordinal() -> None:
    assert len(NAMES) == len(set(NAMES)) == 110
    rows = [row for op in Bir.operations if (row := row_of(op)) is not None]
    assert [row for row in rows if NAMES[row.ordinal] != row.name] == []
    assert not {row.ordinal for row in rows} & ABSTRACT


def test_first_levels() -> None:
    """Where bir.md 7.3 states one; bir.md 2 for those whose first encoder is V3."""
    later = {line.name: line.min_level for line in lines() if line.min_level > 20}
    stated = {"CoreBarrier": 30, "NonzeroWithCount": 30, "GPSIMDSB2SB": 30}
    stated |= {"CollectiveCompute": 30, "QuantizeMx": 40, "MatmultMx": 40}
    assert later.items() >= stated.items()


def test_every_type_exists() -> None:
    """Of the 110 ordinals, the bases have no operation and the others have one."""
    assert [line.ordinal for line in lines()] == list(range(110))
    missing = {line.name for line in lines() if not line.operations}
    assert missing == {NAMES[ordinal] for ordinal in ABSTRACT}
    some = {28: "TensorScalar", 38: "BNBackprop2", 58: "GetRandState", 60: "Rand"}
    some |= {72: "DMADescriptorReplicate", 103: "Exponential", 108: "DoWhile"}
    assert {ordinal: NAMES[ordinal] for ordinal in some} == some


def test_every_operation_is_executed_or_refused() -> None:
    for line in lines():
        for operation in line.operations:
            assert executes(operation), operation.name


def test_what_creates_each() -> None:
    assert set(CREATED_BY) <= set(NAMES)
    for line in lines():
        if line.operations and not line.is_abstract:
            assert line.above or line.created_by, line.name
        assert not (line.above and line.name in CREATED_BY), line.name


def test_some_lines() -> None:
    found = {line.name: line for line in lines()}
    drain = found["Drain"]
    assert (drain.ordinal, drain.created_by, drain.engines) == (
        16,
        "lower_control",
        ("ALL",),
    )
    (above,) = found["DynamicForLoop"].above
    assert above.name == "penguin.dynamic_for"
    assert found["Load"].engines == ("any but PE",)
    assert found["GroupResetSemaphores"].engines == (
        "Pool",
        "Activation",
        "PE",
        "DVE",
        "SP",
    )


def test_a_branch_is_refused_at_its_place() -> None:
    text = """
    bir.func @f {
      bir.basic_block @a {
        bir.exit @I
      }
      bir.return
    }
    """
    with pytest.raises(
        MachineError, match="control flow between basic blocks"
    ) as error:
        prepare(parse(text))
    assert "bir.basic_block" in str(error.value)
