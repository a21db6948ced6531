"""Memory locations from the allocations of a function."""

import binascii
from base64 import b64decode

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir import LocationOp
from xdsl_neuron.dialects.bir.json.document import Node
from xdsl_neuron.dialects.bir.json.instruction_read import extension
from xdsl_neuron.dialects.bir.json.values import (
    attributes_from_json,
    number_from_json,
    read_dtype,
)
from xdsl_neuron.dialects.bir.json.write import hint_of
from xdsl_neuron.dialects.capacity import placements_attribute
from xdsl_neuron.dialects.neuron import Blob, Contents, Identity, Splat, TensorType
from xdsl_neuron.isa import Space, TensorKind

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
    if (addresses := extra.get("addresses")) is not None:
        storage["addresses"] = _addresses(addresses)
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


def _addresses(node: Node) -> Attribute:
    """Partition and byte of each block."""
    values = node.integers()
    if len(values) % 2:
        node.fail("an address is a partition and a byte")
    return placements_attribute(values)


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
