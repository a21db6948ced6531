"""BIR JSON: the documented form of single fields, commands and addresses."""

import json
import math
from typing import Any, cast

import pytest
from bir_json import check
from hypothesis import given, settings, strategies as st
from levels import parse, print_module
from xdsl.utils.exceptions import DiagnosticException

from xdsl_neuron.dtypes import DType
from xdsl_neuron.json import from_json, parse_document, to_json
from xdsl_neuron.json.bits import decode, encode
from xdsl_neuron.numerics.fill import constant_bits

NUMBERS = (0, 1, -1, 7, -129, 300, 1 << 40, 0.0, -0.0, 0.1, -2.5, 1e-9, 240.0, 1e6)
UNENCODED = (DType.TFLOAT32, DType.FLOAT8_E8M0FNU)


@pytest.mark.parametrize("dtype", [d for d in DType if not d.is_packed])
def test_memset_bits(dtype: DType) -> None:
    """Those the machine fills with, and back where the type holds the number."""
    for number in (*NUMBERS, math.inf, -math.inf):
        bits = encode(dtype, number)
        if dtype in UNENCODED:
            assert bits is None
            continue
        assert bits == constant_bits(dtype, number)
        assert bits is not None
        value = decode(dtype, bits)
        assert value is not None
        assert encode(dtype, value) == bits


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([d for d in DType if not d.is_packed and d not in UNENCODED]),
    st.floats(width=64, allow_nan=False) | st.integers(-(1 << 63), (1 << 64) - 1),
)
def test_memset_bits_of_any_number(dtype: DType, number: float) -> None:
    assert encode(dtype, number) == constant_bits(dtype, number)


def test_a_random_state_says_its_engine_twice() -> None:
    text = """
    bir.func @f {
      %s = bir.location @s : <8x6xu32, sbuf>
      %k = bir.location @k : <1x1xu32, sbuf>
      bir.set_rand_state @I0 %s <- %k {engine = Pool}
    }
    """
    document = to_json(parse(text))
    node = cast(Any, document)["functions"][0]["blocks"][0]["instructions"][0]
    assert (node["engine"], node["rng_engine"]) == ("Pool", "Pool")
    node["rng_engine"] = "DVE"
    with pytest.raises(DiagnosticException, match="differs from 'engine'"):
        from_json(parse_document(json.dumps(document), "file.json"))


@pytest.mark.parametrize("command", ["Zero", "AddAccumulate", "ZeroAccumulate"])
def test_a_command_names_the_operation(command: str) -> None:
    """A document without our extension: `acc` alone tells that rows are folded."""
    text = f"""
    bir.func @f {{
      %s = bir.location @s : <8x6xf32, sbuf>
      bir.activation_accumulation @I0 Copy %s <- %s
      bir.activation_accumulation @I1 Copy %s <- %s {{command = {command}}}
    }}
    """
    document = to_json(parse(text))
    node = cast(Any, document)["functions"][0]["blocks"][0]["instructions"][1]
    assert node["acc"] == command
    assert "operation" not in node.get("xdsl_neuron", {})


PLACED = """
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @f {
    %s = bir.location @s at [(32, 2052)] : <64x8xf32, sbuf>
    %p = bir.location @p at [(64, 2052)] : <64x8xf32, psum>
    %b = bir.location @b blocks 2 at [(0, 0), (0, 4096)] : <64x16xf32, psum>
    %h = bir.location @h : <64x16xf32, hbm>
    bir.return
  }
}
"""


def placed(name: str) -> tuple[Any, dict[str, Any]]:
    """The document, and the memory location of this name in it."""
    document = to_json(parse(PLACED))
    found = [
        memory
        for function in cast(Any, document)["functions"]
        for allocation in function["allocations"]
        for memory in allocation.get("memorylocations", ())
        if memory["name"] == name
    ]
    return document, found[0]


def test_addresses_are_the_documented_keys() -> None:
    """They are written, and what is read there counts."""
    check(PLACED)
    document, memory = placed("p")
    assert [memory[key] for key in ("base", "bank", "addr")] == [64, 1, 4]
    assert memory["allocated"] is True
    memory["bank"] = 3
    text = print_module(from_json(parse_document(json.dumps(document), "test.json")))
    assert "@p at [(64, 6148)]" in text
    memory["allocated"] = False
    memory["bank"] = memory["base"] = memory["addr"] = 0
    assert "@p :" in print_module(
        from_json(parse_document(json.dumps(document), "test.json"))
    )


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("s", {"bank": 1}, "bank: bank 1 of a location in SB, which has none"),
        ("p", {"addr": 2048}, "addr: byte 2048 of a PSUM bank of 2048 bytes"),
        ("p", {"allocated": False}, "base: base 64 of a location that is not allo"),
        ("p", {"allocated": 1}, "allocated: expected true or false, got 1"),
        ("p", {"base": "x"}, "base: expected an integer"),
        ("h", {"addr": 64}, "addr: addr 64 of a location that is not allocated"),
        ("h", {"allocated": True}, "allocated: addresses in DRAM are not supported"),
        ("b", {"allocated": True}, "contradicts base, bank and addr, which are [0, 0]"),
    ],
)
def test_addresses_that_contradict(
    name: str, change: dict[str, Any], message: str
) -> None:
    document, memory = placed(name)
    memory.update(change)
    with pytest.raises(DiagnosticException) as caught:
        from_json(parse_document(json.dumps(document), "test.json"))
    assert message in str(caught.value)


def test_one_address_of_several_blocks() -> None:
    document, memory = placed("b")
    memory["allocated"] = True
    for function in document["functions"]:
        for allocation in function["allocations"]:
            allocation.get("xdsl_neuron", {}).pop("addresses", None)
    with pytest.raises(DiagnosticException, match="one address of a tensor of 2 blo"):
        from_json(parse_document(json.dumps(document), "test.json"))
