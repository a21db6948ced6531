"""Opaque instructions, kernels above all: whole tensors and fields of their own."""

from typing import Protocol

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import OptPropertyDef

from xdsl_neuron.dialects.bir import OpaqueInstruction
from xdsl_neuron.dialects.neuron import TensorType, whole
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.json.document import Json, Node
from xdsl_neuron.json.instruction_read import (
    HEADER_KEYS,
    Scope,
    check_header,
    engine_of,
    extension,
)
from xdsl_neuron.json.keys import (
    EXTENSION,
    Form,
    documented_keys,
    key_of,
    look_up,
    put,
)
from xdsl_neuron.json.operands import (
    Layout,
    Reference,
    access_from_json,
    access_to_json,
)
from xdsl_neuron.json.values import (
    attributes_from_json,
    attributes_to_json,
    default_of,
    from_json_value,
    read_dtype,
    to_json_value,
)

_PLAIN = Form()
_EXTENSION_KEYS = frozenset({"name", "after", "attributes"})


class Writer(Protocol):
    """What an opaque instruction asks its function."""

    def start(
        self, operation: OpaqueInstruction, opcode: str
    ) -> tuple[dict[str, Json], dict[str, Json]]: ...

    def memory(self, operation: Operation, value: SSAValue) -> str: ...


def write_opaque(writer: Writer, operation: OpaqueInstruction) -> Json:
    """The JSON of an opaque instruction."""
    opcode = operation.ROW.name
    found, extra = writer.start(operation, opcode)
    found["outs"] = [_operand(writer, operation, value) for value in operation.outs]
    found["ins"] = [_operand(writer, operation, value) for value in operation.ins]
    documented = documented_keys(opcode)
    definitions = operation.get_irdl_definition().properties
    for name in operation.layout().fields:
        value = operation.properties.get(name)
        if name in ("engine", "after") or value is None:
            continue
        if value == default_of(definitions[name]) and not documented.get(name):
            continue
        key = key_of(_PLAIN, name)
        put(
            found if key in documented else extra,
            key,
            to_json_value(value, _constant_to_json),
        )
    if operation.attributes:
        extra["attributes"] = attributes_to_json(operation.attributes)
    if extra:
        found[EXTENSION] = extra
    return found


def _constant_to_json(expression: Affine) -> Json:
    return expression.constant


def _operand(writer: Writer, operation: OpaqueInstruction, value: SSAValue) -> Json:
    memory, kind = writer.memory(operation, value), value.type
    assert isinstance(kind, TensorType)
    access = whole(kind.shape, kind.space.on_chip)
    name = Reference(memory, f"{memory}_set", lambda position: False, _constant_to_json)
    return access_to_json(Layout(kind, kind.dtype), access, name)


def read_opaque(
    scope: Scope, node: Node, kind: type[OpaqueInstruction]
) -> OpaqueInstruction:
    """The instruction; `DiagnosticError` where it is malformed."""
    check_header(node)
    documented = documented_keys(kind.ROW.name)
    extra = extension(node)
    for key, value in node.items():
        if key not in HEADER_KEYS and key not in documented:
            value.fail(f"unknown key of {kind.ROW.name}")
    fields = kind.layout().fields
    for key, value in extra.items():
        if key not in _EXTENSION_KEYS and key not in fields:
            value.fail(f"'{kind.name}' has no such field")
    properties = _header(scope, node, kind)
    definitions = kind.get_irdl_definition().properties
    for name, field in fields.items():
        if name in ("engine", "after"):
            continue
        key = key_of(_PLAIN, name)
        found = look_up(node, key) if key in documented else extra.get(name)
        value = None
        if found is not None:
            value = from_json_value(field, found, _constant)
        default = default_of(definitions[name])
        if value is not None and value != default:
            properties[name] = value
        optional = isinstance(definitions[name], OptPropertyDef)
        if value is None and default is None and not optional:
            node.fail(f"key '{name}' is missing")
    outs = [_tensor(scope, item) for item in node.elements("outs")]
    ins = [_tensor(scope, item) for item in node.elements("ins")]
    operation = kind.make(outs, ins, properties)
    operation.attributes.update(attributes_from_json(extra.get("attributes")))
    return operation


def _header(
    scope: Scope, node: Node, kind: type[OpaqueInstruction]
) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    label = extension(node).get("name")
    if label is None:
        found["inst_name"] = StringAttr(node.child("name").name())
    elif label.value is not None:
        found["inst_name"] = StringAttr(label.name())
    for name, value in (
        ("engine", engine_of(node, kind)),
        ("after", scope.edges(node)),
    ):
        if value is not None:
            found[name] = value
    return found


def _constant(node: Node) -> Affine:
    return Affine(node.integer())


def _tensor(scope: Scope, node: Node) -> SSAValue:
    if node.child("kind").value != "physical_ap":
        node.child("kind").fail("Unsupported argument kind, expected physical_ap")
    _, value, kind = scope.memory(node)
    layout = Layout(kind, read_dtype(node.child("dtype")))
    if access_from_json(layout, node, _constant) is not None:
        node.fail("a kernel takes whole tensors")
    return value
