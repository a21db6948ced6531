"""Semaphores, events and queues as a function declares them: ours, no JSON has them."""

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import OptPropertyDef

from xdsl_neuron.dialects.bir import Bir
from xdsl_neuron.dialects.bir.declarations import Declaration
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.json.document import Json, Node
from xdsl_neuron.json.values import (
    attributes_from_json,
    attributes_to_json,
    default_of,
    from_json_value,
    to_json_value,
)

DECLARATIONS = {
    kind.name: kind for kind in Bir.operations if issubclass(kind, Declaration)
}


def write_declaration(declaration: Declaration) -> dict[str, Json]:
    """A declaration: what it is, its name, its fields."""
    found: dict[str, Json] = {
        "operation": declaration.name,
        "name": declaration.declared_name.data,
    }
    fields: dict[str, Json] = {}
    definitions = declaration.get_irdl_definition().properties
    for name in declaration.layout().fields:
        value = declaration.properties.get(name)
        if value is not None and value != default_of(definitions[name]):
            fields[name] = to_json_value(value, _no_expression)
    if fields:
        found["fields"] = fields
    if declaration.attributes:
        found["attributes"] = attributes_to_json(declaration.attributes)
    return found


def read_declaration(node: Node) -> Declaration:
    """The declaration; `DiagnosticError` where it is malformed."""
    operation = node.child("operation")
    kind = DECLARATIONS.get(operation.string())
    if kind is None:
        operation.fail(f"expected one of {', '.join(DECLARATIONS)}")
    name = StringAttr(node.child("name").name())
    properties: dict[str, Attribute] = {kind.NAME: name}
    fields, given = kind.layout().fields, node.get("fields")
    definitions = kind.get_irdl_definition().properties
    if given is not None:
        for key, value in given.items():
            if key not in fields:
                value.fail(f"'{kind.name}' has no such field")
            found = from_json_value(fields[key], value, _no_index)
            if found is not None:
                properties[key] = found
    for key in fields:
        optional = isinstance(definitions[key], OptPropertyDef)
        missing = key not in properties and default_of(definitions[key]) is None
        if missing and not optional:
            node.fail(f"key '{key}' is missing")
    declaration = kind.create(properties=properties)
    declaration.attributes.update(attributes_from_json(node.get("attributes")))
    return declaration


def _no_expression(expression: Affine) -> Json:
    return expression.constant


def _no_index(node: Node) -> Affine:
    return Affine(node.integer())
