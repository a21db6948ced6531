"""Reading and writing the text form of instructions."""

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import StringIO
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrConstraint, BaseAttr, IRDLOperation, ParamAttrConstraint
from xdsl.parser import Parser
from xdsl.printer import Printer

from xdsl_neuron.dialects.instruction import Instruction, Layout
from xdsl_neuron.dialects.neuron import Access, AccessesAttr, EdgesAttr, TextAttribute
from xdsl_neuron.dialects.neuron.attributes import (
    PredicatesAttr,
    render_access,
    scan_access,
)
from xdsl_neuron.dialects.neuron.text import Cursor, quoted, resume, symbol_text
from xdsl_neuron.isa import NumberedEnum

InstT = TypeVar("InstT", bound=Instruction)


def field_class(constraint: AttrConstraint) -> type[Attribute] | None:
    """The attribute class a property holds, None where it may be any."""
    if isinstance(constraint, BaseAttr):
        return constraint.attr
    if isinstance(constraint, ParamAttrConstraint):
        base = cast(Any, constraint)
        return base.base_attr
    return None


@lru_cache(maxsize=4096)
def segment_sizes(sizes: tuple[int, ...]) -> DenseArrayBase:
    """The `operandSegmentSizes` property."""
    return DenseArrayBase.from_list(i32, sizes)


def declared_segments(operation: Instruction) -> tuple[tuple[int, ...], int]:
    """
    The sizes in `operandSegmentSizes` but for the loop indices', and their sum.

    None where it is missing.
    """
    sizes = operation.properties.get("operandSegmentSizes")
    if not isinstance(sizes, DenseArrayBase):
        return (), 0
    data = sizes.data.data
    # Anything else but an i32 for each segment is refused by IRDL.
    return _unpacked(data, len(operation.layout().names) + 1)


@lru_cache(maxsize=1024)
def _unpacked(data: bytes, count: int) -> tuple[tuple[int, ...], int]:
    if len(data) != 4 * count:
        return (), 0
    found = struct.unpack(f"<{count}i", data)[:-1]
    return found, sum(found)


@lru_cache(maxsize=1024)
def _enum_attribute(kind: type[EnumAttribute[NumberedEnum]], member: str) -> Attribute:
    found = kind.enum_type(member)
    assert isinstance(found, NumberedEnum)
    return kind(found)


@lru_cache(maxsize=4096)
def integer(value: int) -> IntegerAttr:
    """An i64 integer attribute."""
    return IntegerAttr(value, i64)


def parse_instruction(kind: type[InstT], parser: Parser) -> InstT:
    """Reads an instruction behind its operation name."""
    cursor = Cursor.at(parser)
    cursor.indices = []
    layout = kind.layout()
    properties: dict[str, Attribute] = {}
    if cursor.peek("@"):
        properties["inst_name"] = StringAttr(cursor.symbol())
    for name in kind.HEADER:
        properties[name] = _scan_field(cursor, layout.fields[name])
    values, accesses = _scan_operands(cursor, layout)
    if cursor.keyword("where"):
        properties["predicates"] = PredicatesAttr.scan_clause(cursor)
    if cursor.accept("{"):
        scan_fields(cursor, layout, properties)
    attributes: dict[str, Attribute] = {}
    indices = cursor.indices
    resume(parser, cursor.pos)
    extra = parser.parse_optional_attr_dict_with_keyword()
    if extra is not None:
        attributes = dict(extra.data)
    operation = kind.make(values, properties, accesses, indices)
    operation.attributes.update(attributes)
    return operation


def _scan_operands(
    cursor: Cursor, layout: Layout
) -> tuple[list[SSAValue | None], list[Access | None]]:
    values: list[SSAValue | None] = []
    accesses: list[Access | None] = []
    optional: dict[str, tuple[SSAValue, Access | None]] = {}

    def operand() -> tuple[SSAValue, Access | None]:
        value = cursor.value()
        at = cursor.text[cursor.pos : cursor.pos + 1]
        return value, scan_access(cursor) if at == "[" else None

    required = [name for name in layout.names if name not in layout.optional]
    outs = [name for name in layout.names[: layout.outs] if name in required]
    found: dict[str, tuple[SSAValue, Access | None]] = {}
    first = True
    for number, name in enumerate(required):
        if number == len(outs) and number:
            cursor.expect("<-")
        elif not first:
            cursor.expect(",")
        found[name] = operand()
        first = False
    while layout.optional and _optional_follows(cursor, layout, not found):
        start = cursor.pos
        name = cursor.word()
        if name not in layout.optional or name in optional:
            names = ", ".join(sorted(layout.optional))
            cursor.fail(f"expected one of {names}, got '{name}'", start)
        cursor.expect("=")
        found[name] = optional[name] = operand()
    for name in layout.names:
        value, access = found.get(name, (None, None))
        values.append(value)
        accesses.append(access)
    return values, accesses


def _optional_follows(cursor: Cursor, layout: Layout, first: bool) -> bool:
    """Whether a named operand comes next; a comma separates it from what is before."""
    if not first:
        return cursor.accept(",")
    start = cursor.pos
    follows = cursor.optional_word() in layout.optional and cursor.peek("=")
    cursor.pos = start
    return follows


def scan_fields(
    cursor: Cursor, layout: Layout, properties: dict[str, Attribute]
) -> None:
    """Reads `name = value, ...` up to the closing brace."""
    if cursor.accept("}"):
        return
    while True:
        start = cursor.pos
        name = cursor.word()
        if name not in layout.fields:
            names = ", ".join(layout.fields)
            cursor.fail(f"unknown field '{name}', expected one of {names}", start)
        if name in properties:
            cursor.fail(f"field '{name}' is given twice", start)
        kind = layout.fields[name]
        if kind is UnitAttr:
            properties[name] = UnitAttr()
        else:
            cursor.expect("=")
            properties[name] = _scan_field(cursor, kind)
        if not cursor.accept(","):
            break
    cursor.expect("}")


def _scan_field(cursor: Cursor, kind: type[Attribute] | None) -> Attribute:
    if kind is None:
        return _scan_attribute(cursor)
    if issubclass(kind, EnumAttribute):
        enumeration = cast(type[EnumAttribute[NumberedEnum]], kind)
        members = cast(type[NumberedEnum], enumeration.enum_type)
        return _enum_attribute(enumeration, cursor.enum(members).value)
    if kind is EdgesAttr:
        cursor.expect("[")
        edges = EdgesAttr.scan(cursor)
        cursor.expect("]")
        return EdgesAttr(edges)
    if issubclass(kind, TextAttribute):
        text = cast(Any, kind)
        return text(text.scan(cursor))
    if issubclass(kind, IntegerAttr):
        return integer(cursor.integer())
    if issubclass(kind, StringAttr):
        return StringAttr(cursor.string())
    if issubclass(kind, DenseArrayBase):
        return DenseArrayBase.from_list(i64, _scan_integers(cursor))
    return _scan_attribute(cursor)


def _scan_integers(cursor: Cursor) -> list[int]:
    cursor.expect("[")
    found: list[int] = []
    if cursor.accept("]"):
        return found
    while True:
        found.append(cursor.integer())
        if not cursor.accept(","):
            cursor.expect("]")
            return found


def _scan_attribute(cursor: Cursor) -> Attribute:
    resume(cursor.parser, cursor.pos)
    found = cursor.parser.parse_attribute()
    cursor.pos = cursor.parser.pos
    return found


class _Names(Printer):
    """Reaches the names a printer has given to values."""

    @staticmethod
    def of(printer: Printer, value: SSAValue) -> str:
        name = printer._ssa_values.get(value)
        if name is None:
            stream, printer.stream = printer.stream, StringIO()
            name = printer.print_ssa_value(value)
            printer.stream = stream
        return "%" + name


def _index_name(names: Sequence[str]) -> Callable[[int], str]:
    """Names loop indices; an index without its operand (invalid IR) shows as such."""

    def name(position: int) -> str:
        return names[position] if position < len(names) else f"<d{position}>"

    return name


def value_text(printer: Printer, value: SSAValue) -> str:
    """`%name` as the printer writes it."""
    return _Names.of(printer, value)


def print_instruction(operation: Instruction, printer: Printer) -> None:
    """Writes an instruction behind its operation name."""
    layout = operation.layout()
    properties = operation.properties
    pieces: list[str] = []
    name = operation.inst_name
    if name is not None:
        pieces.append(f" {symbol_text(name.data)}")
    pieces.extend(
        f" {_render_field(properties[field], printer, ())}"
        for field in operation.HEADER
        if field in properties
    )
    values = operation.data_values()
    indices = [_Names.of(printer, value) for value in operation.loop_indices()]
    pieces.append(_operands_text(operation, layout, values, printer, indices))
    if operation.predicates is not None:
        clause = operation.predicates.render_clause(_index_name(indices))
        pieces.append(f" where {clause}")
    pieces.append(fields_text(operation, layout, printer, indices, operation.HEADER))
    printer.print_string("".join(pieces))
    if operation.attributes:
        printer.print_string(" attributes ")
        printer.print_attr_dict(operation.attributes)


def _operands_text(
    operation: Instruction,
    layout: Layout,
    values: dict[str, SSAValue],
    printer: Printer,
    indices: Sequence[str],
) -> str:
    given = operation.accesses
    accesses = _accesses_by_name(layout, given)
    outs, ins, named = list[str](), list[str](), list[str]()
    for position, name in enumerate(layout.names):
        value = values.get(name)
        if value is None:
            continue
        text = _Names.of(printer, value)
        access = accesses.get(name)
        if access is not None:
            text += render_access(access, _index_name(indices))
        if name in layout.optional:
            named.append(f"{name} = {text}")
        else:
            (outs if position < layout.outs else ins).append(text)
    right = ", ".join(ins + named) if ins else ", ".join(named)
    if not outs:
        return " " + right if right else ""
    if ins:
        return f" {', '.join(outs)} <- {right}"
    return " " + ", ".join(outs + named)


def _accesses_by_name(
    layout: Layout, given: AccessesAttr | None
) -> dict[str, Access | None]:
    if given is None:
        return {}
    return dict(zip(layout.names, given.data, strict=False))


def fields_text(
    operation: IRDLOperation,
    layout: Layout,
    printer: Printer,
    indices: Sequence[str],
    header: Sequence[str] = (),
) -> str:
    """` {name = value, ...}` without what has its default or stands in the header."""
    definition = operation.get_irdl_definition()
    pieces: list[str] = []
    for name in layout.fields:
        value = operation.properties.get(name)
        if value is None or name in header:
            continue
        if value == definition.properties[name].default_value:
            continue
        if isinstance(value, UnitAttr):
            pieces.append(name)
        else:
            pieces.append(f"{name} = {_render_field(value, printer, indices)}")
    return f" {{{', '.join(pieces)}}}" if pieces else ""


def _render_field(value: Attribute, printer: Printer, indices: Sequence[str]) -> str:
    if isinstance(value, EnumAttribute):
        return str(cast(EnumAttribute[NumberedEnum], value).data)
    if isinstance(value, EdgesAttr):
        return f"[{value.render()}]"
    if isinstance(value, TextAttribute):
        return value.render(_index_name(indices))
    if isinstance(value, IntegerAttr):
        return str(value.value.data)
    if isinstance(value, StringAttr):
        return quoted(value.data)
    if isinstance(value, DenseArrayBase):
        return f"[{', '.join(str(item) for item in value.get_values())}]"
    stream, printer.stream = printer.stream, StringIO()
    text = printer.stream
    printer.print_attribute(value)
    rendered = text.getvalue()
    printer.stream = stream
    return rendered
