"""Memory locations from the allocations of a function."""

import binascii
from base64 import b64decode

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.bir import LocationOp
from xdsl_neuron.dialects.capacity import placements_attribute
from xdsl_neuron.dialects.neuron import Blob, Contents, Identity, Splat, TensorType
from xdsl_neuron.isa import Space, TensorKind
from xdsl_neuron.json.document import Node
from xdsl_neuron.json.instruction_read import extension
from xdsl_neuron.json.values import (
    attributes_from_json,
    number_from_json,
    read_dtype,
)
from xdsl_neuron.json.write import hint_of

MAX_RANK = 64

_SPACES = {"DRAM": Space.HBM, "SB": Space.SBUF, "PSUM": Space.PSUM}


def check_alias(node: Node) -> None:
    """Aliases have no counterpart."""
    alias = node.get("alias")
    if alias is not None and alias.array("'alias' must be a JSON array"):
        alias.fail("aliases are not supported")


def read_location(node: Node, memory: Node, name: str) -> LocationOp:
    """A location of an allocation with one memory location."""
    extra = extension(node)
    space = _space(memory.child("type"))
    shape = tuple(node.child("tensor_shape").integers())
    if len(shape) > MAX_RANK:
        node.child("tensor_shape").fail(f"{len(shape)} dimensions")
    try:
        kind = TensorType.of(shape, read_dtype(node.child("dtype")), space)
    except VerifyException as error:
        node.child("tensor_shape").fail(str(error))
    mutable, contents = extra.get("mutable"), extra.get("contents")
    storage: dict[str, Attribute] = {}
    if (blocks := extra.get("blocks")) is not None:
        storage["blocks"] = IntegerAttr(blocks.integer(), i64)
    if (values := _addresses(memory, space, extra)) is not None:
        storage["addresses"] = placements_attribute(values)
    label = extra.get("name")
    label_text = name if label is None else label.string()
    location = LocationOp.make(
        kind,
        label_text,
        node.child("kind").member(TensorKind),
        mutable is not None and mutable.boolean(),
        None if contents is None else _contents(contents),
        storage,
    )
    location.attributes.update(attributes_from_json(extra.get("attributes")))
    location.result.name_hint = read_hint(node, label_text)
    return location


def _addresses(memory: Node, space: Space, extra: Node) -> list[int] | None:
    """
    Partition and byte of each block; None where allocation decides.

    Of one block they are the memory location's, of several the extension's.
    """
    documented, blocks = _address(memory, space), extra.get("blocks")
    stated = extra.get("addresses")
    if stated is None:
        if documented and blocks is not None and blocks.integer() > 1:
            memory.child("allocated").fail(
                f"one address of a tensor of {blocks.integer()} blocks; give all of "
                "them as addresses of the extension"
            )
        return documented
    values = stated.integers()
    if len(values) % 2:
        stated.fail("an address is a partition and a byte")
    if documented and values != documented:
        stated.fail(f"{values} contradicts base, bank and addr, which are {documented}")
    return values


def _address(memory: Node, space: Space) -> list[int] | None:
    """Partition and byte that `base`, `bank` and `addr` state, where `allocated`."""
    allocated = memory.get("allocated")
    numbers = {key: memory.get(key) for key in ("base", "bank", "addr")}
    base, bank, addr = (
        0 if node is None else node.integer() for node in numbers.values()
    )
    if allocated is None or not allocated.boolean():
        for key, node in numbers.items():
            if node is not None and node.integer():
                node.fail(f"{key} {node.integer()} of a location that is not allocated")
        return None
    if not space.on_chip:
        allocated.fail("addresses in DRAM are not supported")
    if space is Space.SBUF:
        if bank and numbers["bank"] is not None:
            numbers["bank"].fail(f"bank {bank} of a location in SB, which has none")
        return [base, addr]
    size = Arch.psum_bank_bytes
    if not 0 <= addr < size and numbers["addr"] is not None:
        numbers["addr"].fail(f"byte {addr} of a PSUM bank of {size} bytes")
    return [base, bank * size + addr]


def read_hint(node: Node, name: str) -> str | None:
    """The SSA name: as stated, or the JSON name where that can be one."""
    found = extension(node).get("value")
    if found is None:
        return hint_of(name)
    if found.value is None:
        return None
    hint = found.string()
    if not SSAValue.is_valid_name(hint):
        found.fail(f"'{hint}' cannot name a value")
    return hint


def _space(node: Node) -> Space:
    """A memory type: a number as documented, or a name as KLR writes it."""
    if isinstance(node.value, str) and node.value in _SPACES:
        return _SPACES[node.value]
    if not isinstance(node.value, str):
        try:
            return Space.from_number(node.integer())
        except ValueError:
            pass
    node.fail(f"expected 8 (DRAM), 16 (SB) or 32 (PSUM), got {node.value!r}")


def _contents(node: Node) -> Contents:
    if node.value == "identity":
        return Identity()
    splat = node.get("splat")
    if splat is not None:
        return Splat(number_from_json(splat).data)
    data = node.child("bytes")
    try:
        return Blob(b64decode(data.string(), validate=True))
    except (binascii.Error, ValueError) as error:
        data.fail(f"not base64: {error}")
