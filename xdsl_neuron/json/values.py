"""Attributes as JSON values, by their class."""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from io import StringIO
from typing import Any, Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.dialects.instruction_text import integer
from xdsl_neuron.dialects.neuron import (
    AffineAttr,
    DgeTypeAttr,
    DTypeAttr,
    EdgesAttr,
    ImmediateAttr,
    ImmediatesAttr,
    SymbolsAttr,
)
from xdsl_neuron.dialects.neuron.system import GroupsAttr, UpdatesAttr, WaitsAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import DgeType, EdgeKind, NumberedEnum
from xdsl_neuron.json.document import Json, Node
from xdsl_neuron.parsing import LocatedParser
from xdsl_neuron.system import UpdateMode, WaitMode
from xdsl_neuron.upstream import UPSTREAM_FAILURES

DGE_NAMES: Final = {
    DgeType.NONE: "None",
    DgeType.SWDGE: "SWDGE",
    DgeType.HWDGE: "HWDGE",
    DgeType.UNASSIGNED: "Unassigned",
}
"""`DGEType` as JSON spells it (dma.md 1.1)."""

EDGE_NAMES: Final = {kind: kind.value.capitalize() for kind in EdgeKind}
"""`EdgeKind` as JSON spells it (bir.md 1.11)."""

_SPELLED: Final[dict[type[Attribute], dict[NumberedEnum, str]]] = {
    DgeTypeAttr: {**DGE_NAMES}
}
_LITERAL = re.compile(r"-?(?:inf|nan|[0-9]{1,31})")

WriteAffine = Callable[[Affine], Json]
ReadAffine = Callable[[Node], Affine]


def to_json_value(value: Attribute, affine: WriteAffine) -> Json:
    """The JSON value of an attribute; its text where its class has no own form."""
    match value:
        case UnitAttr():
            return True
        case IntegerAttr():
            return value.value.data
        case StringAttr():
            return value.data
        case DenseArrayBase():
            return [int(item) for item in cast(Any, value).get_values()]
        case ImmediateAttr():
            return number_to_json(value)
        case ImmediatesAttr():
            return [number_to_json(item) for item in value.immediates]
        case AffineAttr():
            expression = value.data
            constant = expression.is_constant
            return expression.constant if constant else affine(expression)
        case DTypeAttr():
            return value.data.bir_name
        case GroupsAttr():
            return [[*group] for group in value.data]
        case WaitsAttr():
            return [
                {"mode": mode.value, "name": name, "value": affine(threshold)}
                for mode, name, threshold in value.data
            ]
        case UpdatesAttr():
            return [
                {"mode": mode.value, "name": name, "value": number}
                for mode, name, number in value.data
            ]
        case SymbolsAttr():
            return [*value.data]
        case EdgesAttr():
            return [[name, EDGE_NAMES[kind]] for kind, name in value.data]
        case ArrayAttr() if all(isinstance(item, StringAttr) for item in value):
            return [cast(StringAttr, item).data for item in value]
        case _ if isinstance(value, EnumAttribute):
            enumeration = cast(EnumAttribute[NumberedEnum], value)
            member = enumeration.data
            return _SPELLED.get(type(enumeration), {}).get(member, member.value)
        case _:
            return {"attribute": attribute_text(value)}


def from_json_value(
    kind: type[Attribute] | None, node: Node, affine: ReadAffine
) -> Attribute | None:
    """The attribute of class `kind`; None for a flag that is not set."""
    if isinstance(node.value, list) and (kind is None or kind is ArrayAttr):
        return ArrayAttr([StringAttr(item.string()) for item in node.array()])
    if kind is None or (isinstance(node.value, dict) and "attribute" in node.value):
        found = parse_attribute(node.child("attribute"))
        if kind is not None and not isinstance(found, kind):
            node.fail(f"expected an attribute '{kind.name}', got '{found.name}'")
        return found
    if kind is UnitAttr:
        return UnitAttr() if node.boolean() else None
    if issubclass(kind, EnumAttribute):
        return _enumeration(cast(type[EnumAttribute[NumberedEnum]], kind), node)
    if issubclass(kind, IntegerAttr):
        return integer(node.integer())
    if issubclass(kind, StringAttr):
        return StringAttr(node.string())
    if issubclass(kind, DenseArrayBase):
        return DenseArrayBase.from_list(i64, node.integers())
    if kind is ImmediateAttr:
        return number_from_json(node)
    if kind is ImmediatesAttr:
        numbers = (number_from_json(item) for item in node.array())
        return ImmediatesAttr(tuple(item.data for item in numbers))
    if kind is AffineAttr:
        return AffineAttr(affine(node))
    if kind is DTypeAttr:
        return DTypeAttr(read_dtype(node))
    if kind is GroupsAttr:
        return GroupsAttr(tuple(tuple(item.integers()) for item in node.array()))
    if kind is WaitsAttr:
        return WaitsAttr(tuple(_wait(item, affine) for item in node.array()))
    if kind is UpdatesAttr:
        return UpdatesAttr(tuple(_update(item) for item in node.array()))
    if kind is SymbolsAttr:
        return SymbolsAttr.of(item.string() for item in node.array())
    if kind is EdgesAttr:
        return EdgesAttr.of([read_edge(edge) for edge in node.array()])
    return parse_attribute(node.child("attribute"))


def _wait(node: Node, affine: ReadAffine) -> tuple[WaitMode, str, Affine]:
    mode = node.child("mode").member(WaitMode)
    return mode, node.child("name").name(), affine(node.child("value"))


def _update(node: Node) -> tuple[UpdateMode, str, int]:
    mode = node.child("mode").member(UpdateMode)
    return mode, node.child("name").name(), node.child("value").integer()


def _enumeration(kind: type[EnumAttribute[NumberedEnum]], node: Node) -> Attribute:
    members = cast(type[NumberedEnum], kind.enum_type)
    spellings = _SPELLED.get(kind)
    if spellings is None:
        return kind(node.member(members))
    for member, spelling in spellings.items():
        if spelling == node.string():
            return kind(members(member))
    node.fail(f"expected one of {', '.join(spellings.values())}, got '{node.value}'")


def number_to_json(value: ImmediateAttr) -> Json:
    """An immediate; a string where JSON has no such number (`inf`, 100 bits)."""
    number = value.value
    if isinstance(number, int):
        return number if -(1 << 63) <= number < 1 << 64 else value.data
    return number if number - number == 0 else value.data


def number_from_json(node: Node) -> ImmediateAttr:
    """The immediate `number_to_json` wrote."""
    if isinstance(node.value, str):
        if _LITERAL.fullmatch(node.value) is None:
            node.fail(f"expected a number, inf, -inf or nan, got '{node.value}'")
        is_integer = node.value.lstrip("-").isdigit()
        return ImmediateAttr.of(int(node.value) if is_integer else float(node.value))
    number = node.number()
    if isinstance(number, int):
        node.integer(high=(1 << 64) - 1)
    return ImmediateAttr.of(number)


def read_dtype(node: Node) -> DType:
    """An element type by its BIR name (bir.md 1.3)."""
    name = node.string()
    try:
        return DType.from_bir(name)
    except ValueError:
        names = ", ".join(dtype.bir_name for dtype in DType)
        node.fail(f"Unknown dtype '{name}', expected one of {names}")


def read_edge(node: Node) -> tuple[EdgeKind, str]:
    """`[name, kind]`, or a bare name that means Flow (bir.md 4.3)."""
    if isinstance(node.value, str):
        return EdgeKind.FLOW, node.name()
    pair = node.array()
    if len(pair) != 2:
        node.fail("a dependency is a name or [name, kind]")
    for kind, spelling in EDGE_NAMES.items():
        if spelling == pair[1].string():
            return kind, pair[0].name()
    pair[1].fail(f"expected one of {', '.join(EDGE_NAMES.values())}")


def attribute_text(value: Attribute) -> str:
    """The attribute as MLIR text."""
    stream = StringIO()
    Printer(stream).print_attribute(value)
    return stream.getvalue()


@cache
def _context() -> Context:
    found = Context()
    found.load_dialect(Builtin)
    register_dialects(found)
    return found


@lru_cache(maxsize=1024)
def _parse_text(text: str) -> Attribute | str:
    """The attribute, or why there is none."""
    parser = LocatedParser(_context(), text, "attribute")
    try:
        found = parser.parse_attribute()
        if parser.pos != len(text):
            return "text behind the attribute"
        return found
    except ParseError as error:
        return error.msg
    except (VerifyException, RecursionError, *UPSTREAM_FAILURES) as error:
        return str(error) or type(error).__name__


def parse_attribute(node: Node) -> Attribute:
    """An attribute from its MLIR text."""
    found = _parse_text(node.string())
    if isinstance(found, str):
        node.fail(f"not an attribute: {found}")
    return found


def attributes_to_json(attributes: dict[str, Attribute]) -> Json:
    """A dictionary of discardable attributes."""
    return {name: attribute_text(value) for name, value in attributes.items()}


def attributes_from_json(node: Node | None) -> dict[str, Attribute]:
    """What `attributes_to_json` wrote; none where the key is absent."""
    if node is None:
        return {}
    return {name: parse_attribute(value) for name, value in node.items() if name}


def default_of(definition: Any) -> Attribute | None:
    """The default of a property's definition."""
    return getattr(definition, "default_value", None)
