"""One instruction to its JSON: operands by slot, fields by key."""

from dataclasses import dataclass, field
from typing import Protocol

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects.dma import Descriptor, dtype_property
from xdsl_neuron.dialects.instruction import (
    REGISTER_BITS,
    RESERVED,
    Instruction,
    register_bits,
)
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import (
    Access,
    AccessesAttr,
    AffineAttr,
    DTypeAttr,
    ImmediateAttr,
    TensorType,
    whole,
)
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.json.document import Json, Node, Text
from xdsl_neuron.json.expressions import ExpressionReader, affine_to_json
from xdsl_neuron.json.fields import Field
from xdsl_neuron.json.keys import (
    ENGINE_KEYS,
    EXTENSION,
    VERSION,
    Form,
    choose,
    documented_keys,
    form_of,
    key_of,
    opcode_of,
    put,
)
from xdsl_neuron.json.operands import (
    Layout,
    Reference,
    access_from_json,
    access_to_json,
    exact_access_to_json,
)
from xdsl_neuron.json.values import (
    attributes_to_json,
    default_of,
    number_to_json,
    to_json_value,
)

HEADER_PROPERTIES = RESERVED | {"engine", "after"}
INDEX_LIMIT = "max_index"
INDIRECT_ARGUMENT = "tensor_indirect_arg_id"
INDIRECT_COUNT = "num_tensor_indirect_indices"
NO_ARGUMENT = 0xFFFFFFFF
"""What `tensor_indirect_arg_id` is where there is no index (dma.md 2.3)."""


class Writer(Protocol):
    """What an instruction asks its function."""

    def start(
        self, operation: Instruction, opcode: str
    ) -> tuple[dict[str, Json], dict[str, Json]]: ...

    def memory(self, operation: Operation, value: SSAValue) -> str: ...

    def index(self, operation: Operation, value: SSAValue) -> tuple[bool, str]: ...

    def register_names(self, operation: Operation) -> list[str]: ...


def slots_of(kind: type[Instruction]) -> tuple[tuple[str, str], ...]:
    """For each input in the documented order its operand and its immediate's name."""
    form = form_of(kind)
    found: list[tuple[str, str]] = []
    for slot in form.slots:
        name, _, immediate = slot.partition("|")
        found.append((name, immediate))
    named = {name for name, _ in found} | set(form.indirection)
    found += [
        (name, _immediate_of(kind, name)) for name in kind.INS if name not in named
    ]
    found += [(name, name) for name in registers_of(kind)]
    return tuple(found)


def registers_of(kind: type[Instruction]) -> tuple[str, ...]:
    """Properties that are a register or an immediate: inputs in JSON."""
    found = getattr(kind, "REGISTERS", ())
    return tuple(name for name in found if name in kind.layout().fields)


def _immediate_of(kind: type[Instruction], name: str) -> str:
    """The property that stands for an operand, by how such properties are named."""
    for prop in (f"{name}_imm", f"imm{name[-1]}" if name[-1].isdigit() else ""):
        if kind.layout().fields.get(prop) is ImmediateAttr:
            return prop
    return ""


def indexed_operand(kind: type[Instruction]) -> str:
    """The operand whose rows an index picks; empty where there is none."""
    if INDEX_LIMIT not in kind.layout().fields:
        return ""
    found = getattr(kind, "INDEXED", "src")
    return found if isinstance(found, str) else ""


def operand_layout(kind: type[Instruction], of: TensorType, dtype: DType) -> Layout:
    """How an operand's access maps to a pattern."""
    if issubclass(kind, Descriptor):
        return Layout(of, dtype, dtype.bytes, True)
    return Layout(of, dtype)


def write_instruction(writer: Writer, operation: Instruction) -> dict[str, Json]:
    """The JSON of an instruction."""
    kind = type(operation)
    opcode = opcode_of(kind)
    found, extra = writer.start(operation, opcode)
    _InstructionWriter(writer, operation, form_of(kind), opcode, found, extra).run()
    if operation.attributes:
        extra["attributes"] = attributes_to_json(operation.attributes)
    if choose(opcode, found, "indirection_ins" in found) is not kind:
        extra["operation"] = operation.name
    if extra:
        found[EXTENSION] = extra
    return found


@dataclass
class _InstructionWriter:
    writer: Writer
    operation: Instruction
    form: Form
    opcode: str
    found: dict[str, Json]
    extra: dict[str, Json]
    indices: list[tuple[bool, str]] = field(default_factory=list[tuple[bool, str]])
    used: set[int] = field(default_factory=set[int])
    consumed: set[str] = field(default_factory=set[str])
    data: dict[str, Operand] = field(default_factory=dict[str, Operand])

    def run(self) -> None:
        operation = self.operation
        self.indices = [
            self.writer.index(operation, value) for value in operation.loop_indices()
        ]
        self.data = operation.data()
        self._operands()
        masks = operation.masks()
        if masks:
            self.found["predicates"] = [self.affine(mask) for mask in masks]
        self._fields()
        if len(self.indices) > 1 or len(self.used) < len(self.indices):
            self.extra["indices"] = [name for _, name in self.indices]

    def affine(self, expression: Affine) -> Json:
        return affine_to_json(expression, self._leaf)

    def _leaf(self, position: int) -> Json:
        self.used.add(position)
        is_register, name = self.indices[position]
        if is_register:
            return {"kind": "IntRuntimeValueKind", "regref": name}
        return {"kind": "AffIVKind", "axis": name}

    def _expressions(self) -> ExpressionReader:
        """Reads back what was written."""

        def axis(node: Node) -> int:
            return self.indices.index((False, node.string()))

        def register(node: Node) -> int:
            return self.indices.index((True, node.string()))

        return ExpressionReader(VERSION, axis, register)

    def _operands(self) -> None:
        kind = type(self.operation)
        present = [name for name in kind.OUTS if name in self.data]
        outs = [self._operand(name) for name in present]
        for name, result in zip(
            self.writer.register_names(self.operation),
            self.operation.results,
            strict=True,
        ):
            outs.append(_register_access(name, result))
        self.found["outs"] = outs
        if tuple(present) != kind.OUTS[: len(present)]:
            self.extra["outs"] = [*present]
        ins: list[Json] = []
        names: list[str] = []
        slots = slots_of(kind)
        for name, immediate in slots:
            value = self.operation.properties.get(immediate)
            if name in self.data:
                ins.append(self._operand(name))
                names.append(name)
            elif isinstance(value, ImmediateAttr):
                ins.append(self._immediate(value))
                names.append(immediate)
                self.consumed.add(immediate)
            elif isinstance(value, AffineAttr) and name in registers_of(kind):
                ins.append(self._register(value.data))
                names.append(name)
                self.consumed.add(name)
        self.found["ins"] = ins
        if any(name not in slot for slot, name in zip(slots, names, strict=False)):
            self.extra["ins"] = [*names]
        indirect = [name for name in self.form.indirection if name in self.data]
        if indirect:
            self.found["indirection_ins"] = [self._operand(name) for name in indirect]

    def _immediate(self, value: ImmediateAttr) -> Json:
        number = value.value
        dtype = DType.FLOAT32
        if isinstance(number, int) and self.opcode != "Activation":
            fits = -(1 << 31) <= number < 1 << 31
            dtype = DType.INT32 if fits else DType.INT64
        return {
            "kind": "imm_value",
            "dtype": dtype.bir_name,
            "value": number_to_json(value),
        }

    def _register(self, value: Affine) -> Json:
        """A register, an immediate, or ours: an expression of loop indices."""
        dtype = DType.INT32 if -(1 << 31) <= value.constant < 1 << 31 else DType.INT64
        if value.is_constant:
            number: Json = value.constant
            return {"kind": "imm_value", "dtype": dtype.bir_name, "value": number}
        position = min(value.positions, default=0)
        if value == Affine.index(position) and self.indices[position][0]:
            self.used.add(position)
            name = self.indices[position][1]
            register = self.operation.loop_indices()[position]
            return _register_access(name, register)
        return {
            "kind": "symbolic_imm_value",
            "dtype": dtype.bir_name,
            "expr": self.affine(value),
        }

    def _dtype(self, operand: Operand) -> DType:
        """What an element of the operand is, from a descriptor's properties if one."""
        if not isinstance(self.operation, Descriptor):
            return operand.dtype
        name = dtype_property(operand.name)
        found = self.operation.properties.get(name)
        if isinstance(found, DTypeAttr):
            self.consumed.add(name)
            return found.data
        return operand.dtype if operand.dtype.bytes == 4 else DType.UINT32

    def _operand(self, name: str) -> Json:
        operand, kind = self.data[name], type(self.operation)
        memory = self.writer.memory(self.operation, operand.value)
        layout = operand_layout(kind, operand.type, self._dtype(operand))
        reference = Reference(
            memory,
            f"{memory}_set",
            lambda position: self.indices[position][0],
            self.affine,
        )
        given = self._given(name)
        found = access_to_json(layout, operand.access, reference)
        exact = self._exact(layout, found, given)
        if exact:
            found[EXTENSION] = exact
        if name == indexed_operand(kind):
            limit = to_json_value(self.operation.properties[INDEX_LIMIT], self.affine)
            found["indirect_dim_max_index"] = limit
            self.consumed.add(INDEX_LIMIT)
        if isinstance(self.operation, TensorIndirect):
            self._indirection(self.operation, name, found)
        return found

    def _indirection(
        self, operation: TensorIndirect, name: str, found: dict[str, Json]
    ) -> None:
        """Which of the indirection arguments picks its columns, and how many."""
        index = dict(operation.indirect_operands()).get(name)
        count = self.data[name].picked
        if index is None or count is None:
            return
        present = [each for each in self.form.indirection if each in self.data]
        found[INDIRECT_ARGUMENT] = present.index(index)
        found[INDIRECT_COUNT] = count
        self.consumed.add(f"{index.removesuffix('_index')}_num_indices")

    def _given(self, name: str) -> Access | None:
        accesses = self.operation.properties.get("accesses")
        if not isinstance(accesses, AccessesAttr):
            return None
        return accesses.data[self.operation.layout().names.index(name)]

    def _exact(
        self, layout: Layout, found: dict[str, Json], given: Access | None
    ) -> dict[str, Json]:
        """What the pattern does not say of the access."""
        try:
            node = _node(found)
            read = access_from_json(layout, node, self._expressions().read)
        except DiagnosticError:
            return {"access": exact_access_to_json(given, self.affine)}
        if read == given:
            return {}
        if read is None and given == whole(layout.type.shape, layout.on_chip):
            return {"explicit": True}
        return {"access": exact_access_to_json(given, self.affine)}

    def _fields(self) -> None:
        kind = type(self.operation)
        fields = {item.prop: item for item in self.form.fields if item.prop}
        documented = documented_keys(self.opcode)
        bound: set[str] = set()
        for prop in kind.layout().fields:
            if prop in HEADER_PROPERTIES or prop in self.consumed:
                continue
            value = property_of(self.operation, prop)
            if prop in fields:
                self._field(prop, fields[prop], value)
                bound |= set(fields[prop].keys)
                continue
            key = key_of(self.form, prop)
            if key in documented:
                self._documented(prop, key, value, documented[key])
                bound.add(key)
            elif value is not None:
                self.extra[prop] = to_json_value(value, self.affine)
        for item in self.form.fields:
            if item.prop is None:
                self.found |= item.encode(None, self.data, self.affine)
        for key, constant in self.form.constants.items():
            if key not in bound:
                put(self.found, key, constant)
        if self.opcode in ENGINE_KEYS:
            self.found[ENGINE_KEYS[self.opcode]] = self.found["engine"]

    def _field(self, prop: str, item: Field, value: Attribute | None) -> None:
        keys = item.encode(value, self.data, self.affine)
        self.found |= keys
        read = None
        if keys and item.decode is not None:
            try:
                node = _node(self.found)
                read = item.decode(node, self.data, self._expressions().read)
            except DiagnosticError:
                read = None
        if without_default(type(self.operation), prop, read) != value:
            absent = value is None
            self.extra[prop] = None if absent else to_json_value(value, self.affine)

    def _documented(
        self, prop: str, key: str, value: Attribute | None, required: bool
    ) -> None:
        constants = self.form.constants
        if value is not None:
            shown = to_json_value(value, self.affine)
            put(self.found, key, shown)
            if key in constants and shown == constants[key]:
                self.extra[prop] = shown
        elif key in constants:
            put(self.found, key, constants[key])
        elif required:
            default = default_of(_definition(type(self.operation), prop))
            if default is not None:
                put(self.found, key, to_json_value(default, self.affine))
            elif self.operation.layout().fields[prop] is UnitAttr:
                put(self.found, key, False)


def _register_access(name: str, register: SSAValue) -> Json:
    """A register by name; a pair holds 64 bits."""
    one = register_bits(register) == REGISTER_BITS
    dtype = DType.INT32 if one else DType.INT64
    return {"kind": "register_access", "dtype": dtype.bir_name, "regref": name}


def property_of(operation: Instruction, prop: str) -> Attribute | None:
    """A property, None where it is absent or what absence means."""
    return without_default(type(operation), prop, operation.properties.get(prop))


def without_default(
    kind: type[Instruction], prop: str, value: Attribute | None
) -> Attribute | None:
    """None for the property's default."""
    return None if value == default_of(_definition(kind, prop)) else value


def _definition(kind: type[Instruction], prop: str) -> object:
    return kind.get_irdl_definition().properties[prop]


def _node(value: dict[str, Json]) -> Node:
    return Node(Text("", ""), value, "", 0)
