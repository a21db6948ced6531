"""One instruction from its JSON."""

from dataclasses import dataclass, field
from typing import Protocol

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OptPropertyDef

from xdsl_neuron.dialects.dma import Descriptor, dtype_property
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import (
    Access,
    AffineAttr,
    DTypeAttr,
    EngineAttr,
    PredicatesAttr,
    TensorType,
    whole,
)
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import Engine
from xdsl_neuron.json.document import Json, Node
from xdsl_neuron.json.expressions import ExpressionReader, affine_to_json
from xdsl_neuron.json.fields import IMMEDIATE_DTYPES
from xdsl_neuron.json.instruction_json import (
    HEADER_PROPERTIES,
    INDEX_LIMIT,
    INDIRECT_ARGUMENT,
    INDIRECT_COUNT,
    NO_ARGUMENT,
    indexed_operand,
    operand_layout,
    registers_of,
    slots_of,
    without_default,
)
from xdsl_neuron.json.keys import (
    ENGINE_KEYS,
    EXTENSION,
    HEADER_ALWAYS,
    HEADER_REST,
    Form,
    candidates,
    choose,
    documented_keys,
    form_of,
    key_of,
    look_up,
    opcodes,
)
from xdsl_neuron.json.operands import (
    Layout,
    Reference,
    access_from_json,
    access_to_json,
    exact_access_from_json,
)
from xdsl_neuron.json.values import (
    attributes_from_json,
    default_of,
    from_json_value,
    number_from_json,
    read_dtype,
    to_json_value,
)

TENSOR_KINDS = ("physical_ap", "symbolic_ap", "symbolic_pwap")
OTHER_KINDS = ("register_ap", "symbolic_imm_value", "imm_array", "register_access")
HEADER_KEYS = frozenset({"name", EXTENSION, *HEADER_ALWAYS, *HEADER_REST})
EXTENSION_KEYS = frozenset(
    {"operation", "name", "ins", "outs", "indices", "after", "attributes"}
)
NEUTRAL: tuple[Json, ...] = (
    False,
    None,
    0,
    [],
    {},
    "Idle",
    "bypass",
    "None",
    "Unassigned",
)
"""Values of a documented key that ask for nothing."""

IGNORED = frozenset({"can_read_uninit", "use_gpsimd_dma"})
"""Documented keys that do not change what an instruction computes in order."""


class Scope(Protocol):
    """What an instruction asks of the function being read."""

    version: int

    def memory(self, node: Node) -> tuple[str, SSAValue, TensorType]: ...

    def axis(self, node: Node) -> SSAValue: ...

    def register(self, node: Node) -> SSAValue: ...

    def is_register(self, node: Node) -> bool: ...

    def define_register(self, node: Node, value: SSAValue) -> None: ...

    def edges(self, node: Node) -> Attribute | None: ...

    def queue(self, node: Node) -> Attribute | None: ...


def engine_of(node: Node, kind: type[Operation]) -> Attribute | None:
    """The engine property; None where it is the default."""
    found = node.get("engine")
    if found is None:
        return None
    engine = EngineAttr(found.member(Engine))
    if not issubclass(kind, IRDLOperation):
        return None
    definitions = kind.get_irdl_definition().properties
    if "engine" not in definitions:
        return None
    default = default_of(definitions["engine"])
    return None if engine == default else engine


def extension(node: Node) -> Node:
    """The extension; an empty object where there is none."""
    found = node.get(EXTENSION)
    if found is not None:
        found.object()
        return found
    return Node(node.text, {}, f"{node.path}.{EXTENSION}", node.start)


def check_header(node: Node) -> None:
    """The shapes of the header's keys, also of those that have no counterpart."""
    for key in ("engine_id", "scheduled_start", "scheduled_end"):
        found = node.get(key)
        if found is not None:
            found.integer()
    for key in ("loopnest", "order", "unroll_dependencies"):
        node.elements(key)


def read_instruction(scope: Scope, node: Node) -> Instruction:
    """The instruction; `DiagnosticError` where it is malformed."""
    opcode = node.child("opcode").string()
    kind = _class_of(node, opcode)
    check_header(node)
    return _InstructionReader(scope, node, opcode, kind, form_of(kind)).run()


def _class_of(node: Node, opcode: str) -> type[Instruction]:
    known = candidates(opcode)
    if not known:
        names = ", ".join(sorted({*opcodes(), "Loop", "Return", "DMATrigger"}))
        node.child("opcode").fail(f"Unknown opcode '{opcode}', expected one of {names}")
    named = extension(node).get("operation")
    if named is not None:
        for kind in known:
            if kind.name == named.string():
                return kind
        names = ", ".join(kind.name for kind in known)
        named.fail(f"expected one of {names}, got '{named.value}'")
    kind = choose(opcode, node.object(), bool(node.elements("indirection_ins")))
    if kind is None:
        node.fail(f"no {opcode} has these keys")
    return kind


@dataclass
class _InstructionReader:
    scope: Scope
    node: Node
    opcode: str
    kind: type[Instruction]
    form: Form
    indices: list[SSAValue] = field(default_factory=list[SSAValue])
    names: list[tuple[bool, str]] = field(default_factory=list[tuple[bool, str]])
    data: dict[str, Operand] = field(default_factory=dict[str, Operand])
    accesses: dict[str, Access | None] = field(
        default_factory=dict[str, "Access | None"]
    )
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    picked: dict[int, str] = field(default_factory=dict[int, str])
    """Indices by their place among the indirection arguments."""

    def run(self) -> Instruction:
        self._check_keys()
        self._preload()
        registers = self._operands()
        predicates = self.node.elements("predicates")
        if predicates:
            masks = tuple(self.affine(item) for item in predicates)
            self.properties["predicates"] = PredicatesAttr(masks)
        self._header()
        self._fields()
        operation = self._make()
        for result, register in zip(operation.results, registers, strict=True):
            self.scope.define_register(register, result)
        return operation

    def _make(self) -> Instruction:
        names = self.kind.layout().names
        values = [
            self.data[name].value if name in self.data else None for name in names
        ]
        accesses = [self.accesses.get(name) for name in names]
        operation = self.kind.make(values, self.properties, accesses, self.indices)
        operation.attributes.update(
            attributes_from_json(extension(self.node).get("attributes"))
        )
        return operation

    def _check_keys(self) -> None:
        constants = self.form.constants
        documented = documented_keys(self.opcode)
        known = {key.partition(".")[0] for key in documented}
        for key, value in self.node.items():
            if key in HEADER_KEYS:
                continue
            if key not in known and key not in constants:
                names = ", ".join(documented) or "the header's"
                self.node.fail(f"unknown key '{key}' of {self.opcode}, its are {names}")
            if key in constants and key not in self._bound():
                if _differs(value.value, constants[key]):
                    value.fail(
                        f"{value.value!r} is not supported, expected {constants[key]!r}"
                    )
        fields = self.kind.layout().fields
        for key, value in extension(self.node).items():
            if key not in EXTENSION_KEYS and key not in fields:
                value.fail(f"'{self.kind.name}' has no such field")

    def _bound(self) -> dict[str, str]:
        """Documented keys that hold a property, and which."""
        found: dict[str, str] = {}
        documented = documented_keys(self.opcode)
        for prop in self.kind.layout().fields:
            key = key_of(self.form, prop)
            if prop not in HEADER_PROPERTIES and key in documented:
                found[key] = prop
        for item in self.form.fields:
            found |= dict.fromkeys(item.keys, item.prop or "")
        return found

    def affine(self, node: Node) -> Affine:
        """An expression of the node's."""
        reader = ExpressionReader(self.scope.version, self._axis, self._register)
        return reader.read(node)

    def _axis(self, node: Node) -> int:
        return self._position(False, node, self.scope.axis(node))

    def _register(self, node: Node) -> int:
        return self._position(True, node, self.scope.register(node))

    def _position(self, is_register: bool, node: Node, value: SSAValue) -> int:
        if value not in self.indices:
            self.indices.append(value)
            self.names.append((is_register, node.string()))
        return self.indices.index(value)

    def _preload(self) -> None:
        for node in extension(self.node).elements("indices"):
            if self.scope.is_register(node):
                self._register(node)
            else:
                self._axis(node)

    def _operands(self) -> list[Node]:
        outs = self.node.elements("outs")
        registers = len(self.kind.RESULTS)
        tensors = outs[: len(outs) - registers] if registers else outs
        for item, name in self._named("outs", tensors):
            self._tensor(item, name or self._slot(item, self.kind.OUTS))
        given = outs[len(outs) - registers :] if registers else []
        if len(given) != registers:
            self.node.fail(f"'outs' has no register, expected {registers}")
        for item in given:
            if _kind_of(item) != "register_access":
                item.fail("expected a register_access")
        for item, name in self._named("ins", self.node.elements("ins")):
            self._input(item, name)
        names = dict(enumerate(self.form.indirection))
        if issubclass(self.kind, TensorIndirect):
            names = self.picked
        items = self.node.elements("indirection_ins")
        for at, item in enumerate(items):
            name = names.get(at)
            if name is None:
                item.fail(f"{self.opcode} has no such indirection argument")
            self._tensor(item, name)
        for at in self.picked:
            if not 0 <= at < len(items):
                self.node.fail(
                    f"{INDIRECT_ARGUMENT} {at} names none of the {len(items)} "
                    "indirection arguments"
                )
        self._check_present()
        return [item.child("regref") for item in given]

    def _named(self, key: str, items: list[Node]) -> list[tuple[Node, str]]:
        names = extension(self.node).get(key)
        if names is None:
            return [(item, "") for item in items]
        found = [name.string() for name in names.array()]
        if len(found) != len(items):
            names.fail(f"{len(found)} names for {len(items)} operands")
        return list(zip(items, found, strict=True))

    def _slot(self, item: Node, names: tuple[str, ...]) -> str:
        for name in names:
            if name not in self.data:
                return name
        item.fail(f"{self.opcode} has {len(names)} outputs")

    def _input(self, item: Node, name: str) -> None:
        kind = _kind_of(item)
        slots = slots_of(self.kind)
        if not name:
            done = sum(
                tensor in self.data or immediate in self.properties
                for tensor, immediate in slots
            )
            if done == len(slots):
                item.fail(f"{self.opcode} has at most {len(slots)} inputs")
            name = slots[done][kind not in TENSOR_KINDS]
            if not name:
                item.fail(f"{self.opcode} takes no immediate here")
        is_immediate = any(name == immediate for _, immediate in slots)
        if not is_immediate and not any(name == tensor for tensor, _ in slots):
            item.fail(f"'{self.kind.name}' has no input '{name}'")
        if name in self.data or name in self.properties:
            item.fail(f"'{name}' is given twice")
        if not is_immediate:
            self._tensor(item, name)
            return
        if name in registers_of(self.kind):
            self.properties[name] = AffineAttr(self._register_input(item, kind))
            return
        if kind != "imm_value":
            item.fail(f"expected an imm_value for '{name}'")
        if read_dtype(item.child("dtype")) not in IMMEDIATE_DTYPES:
            item.child("dtype").fail("unsupported dtype")
        self.properties[name] = number_from_json(item.child("value"))

    def _register_input(self, item: Node, kind: str) -> Affine:
        match kind:
            case "register_access":
                return Affine.index(self._register(item.child("regref")))
            case "imm_value":
                return Affine(item.child("value").integer())
            case "symbolic_imm_value":
                return self.affine(item.child("expr"))
            case _:
                item.fail(f"Unsupported argument kind '{kind}' for a register")

    def _tensor(self, item: Node, name: str) -> None:
        kind = _kind_of(item)
        if kind not in TENSOR_KINDS:
            item.fail(f"Unsupported argument kind '{kind}' for '{name}'")
        if name not in self.kind.layout().names or name in self.data:
            item.fail(f"'{self.kind.name}' has no further operand '{name}'")
        memory, value, type_ = self.scope.memory(item)
        dtype = read_dtype(item.child("dtype"))
        layout = operand_layout(self.kind, type_, dtype)
        access = self._access(item, layout, memory)
        self.accesses[name] = access
        shown = whole(type_.shape, type_.space.on_chip) if access is None else access
        self.data[name] = Operand(name, value, type_, shown)
        if issubclass(self.kind, TensorIndirect):
            self._indirection(self.kind, item, name)
        typed = dtype_property(name)
        if issubclass(self.kind, Descriptor) and typed in self.kind.layout().fields:
            self.properties[typed] = DTypeAttr(dtype)
        if name == indexed_operand(self.kind):
            fields = self.kind.layout().fields
            limit = item.child("indirect_dim_max_index")
            found = from_json_value(fields[INDEX_LIMIT], limit, self.affine)
            if found is not None:
                self.properties[INDEX_LIMIT] = found

    def _indirection(self, kind: type[TensorIndirect], item: Node, name: str) -> None:
        """Notes which index picks the columns of an operand, and how many."""
        argument = item.get(INDIRECT_ARGUMENT)
        if argument is None or argument.integer() in (-1, NO_ARGUMENT):
            return
        owner = kind.INDIRECT.get(name)
        if owner is None:
            argument.fail(f"'{name}' of '{kind.name}' has no indirection")
        index = f"{owner}_index"
        if self.picked.setdefault(argument.integer(), index) != index:
            argument.fail(f"'{name}' shares its index with another operand")
        count = IntegerAttr(item.child(INDIRECT_COUNT).integer(), i64)
        if self.properties.setdefault(f"{owner}_num_indices", count) != count:
            item.child(INDIRECT_COUNT).fail("differs from that of the same index")

    def _access(self, item: Node, layout: Layout, memory: str) -> Access | None:
        item.elements("access_shape")
        exact = extension(item).get("access")
        if exact is None:
            access = access_from_json(layout, item, self.affine)
            explicit = extension(item).get("explicit")
            if access is None and explicit is not None and explicit.boolean():
                return whole(layout.type.shape, layout.on_chip)
            return access
        access = exact_access_from_json(exact, self.affine)
        full = whole(layout.type.shape, layout.on_chip) if access is None else access
        reference = Reference(
            memory,
            f"{memory}_set",
            lambda position: self.names[position][0],
            self._leaf,
        )
        expected = access_to_json(layout, full, reference)
        for key in ("ap", "offset", "addrs"):
            if key in item.object() and item.object()[key] != expected.get(key):
                exact.fail(f"differs from '{key}' beside it; remove one of them")
        return access

    def _leaf(self, expression: Affine) -> Json:
        def leaf(position: int) -> Json:
            is_register, name = self.names[position]
            if is_register:
                return {"kind": "IntRuntimeValueKind", "regref": name}
            return {"kind": "AffIVKind", "axis": name}

        return affine_to_json(expression, leaf)

    def _check_present(self) -> None:
        layout = self.kind.layout()
        missing = [
            name
            for name in layout.names
            if name not in self.data and name not in layout.optional
        ]
        if missing:
            self.node.fail(f"{self.opcode} has no operand '{missing[0]}'")

    def _header(self) -> None:
        extra = extension(self.node)
        label = extra.get("name")
        if label is None:
            self.properties["inst_name"] = StringAttr(self.node.child("name").name())
        elif label.value is not None:
            self.properties["inst_name"] = StringAttr(label.name())
        engine = engine_of(self.node, self.kind)
        if engine is not None:
            self.properties["engine"] = engine
        edges = self.scope.edges(self.node)
        if edges is not None:
            self.properties["after"] = edges

    def _fields(self) -> None:
        layout = self.kind.layout()
        extra = extension(self.node)
        fields = {item.prop: item for item in self.form.fields if item.prop}
        documented = documented_keys(self.opcode)
        for prop, kind in layout.fields.items():
            if prop in HEADER_PROPERTIES or prop in self.properties:
                continue
            key = key_of(self.form, prop)
            exact = extra.get(prop)
            if exact is not None:
                value = None
                if exact.value is not None:
                    value = from_json_value(kind, exact, self.affine)
            elif prop in fields:
                item = fields[prop]
                given = any(key in self.node.object() for key in item.keys)
                value = None
                if given and item.decode is not None:
                    value = item.decode(self.node, self.data, self.affine)
            else:
                value = self._documented(key, kind) if key in documented else None
            value = without_default(self.kind, prop, value)
            if value is not None:
                self.properties[prop] = value
            self._require(prop, value)
        self._compare()

    def _documented(self, key: str, kind: type[Attribute] | None) -> Attribute | None:
        found = look_up(self.node, key)
        if found is None:
            return None
        constants = self.form.constants
        if key in constants and not _differs(found.value, constants[key]):
            return None
        if key == "queue":
            return self.scope.queue(found)
        return from_json_value(kind, found, self.affine)

    def _require(self, prop: str, value: Attribute | None) -> None:
        definition = self.kind.get_irdl_definition().properties[prop]
        optional = isinstance(definition, OptPropertyDef)
        if value is None and not optional and default_of(definition) is None:
            key = key_of(self.form, prop)
            self.node.fail(f"key '{key}' is missing")

    def _compare(self) -> None:
        """Documented keys say what the properties are, and nothing more."""
        extra, given = extension(self.node).object(), self.node.object()
        bound = self._bound()
        for key in documented_keys(self.opcode):
            found = look_up(self.node, key)
            if found is None or key in IGNORED:
                continue
            if key == ENGINE_KEYS.get(self.opcode):
                if found.value != self.node.child("engine").value:
                    found.fail("differs from 'engine'")
                continue
            if key not in bound and key not in self.form.constants:
                if all(_differs(found.value, neutral) for neutral in NEUTRAL):
                    found.fail("has no counterpart here")
            elif bound.get(key, "") in extra:
                self._compare_key(found, bound[key])
        for item in self.form.fields:
            if item.prop is not None and item.prop not in extra:
                continue
            value = None if item.prop is None else self.properties.get(item.prop)
            expected = item.encode(value, self.data, self._leaf)
            for key in item.keys:
                if key in given and _differs(given[key], expected.get(key)):
                    self.node.child(key).fail("differs from what the operation is")

    def _compare_key(self, found: Node, prop: str) -> None:
        value = self.properties.get(prop)
        if prop and value is not None and not self._has_field(prop):
            if _differs(found.value, to_json_value(value, self._leaf)):
                found.fail(f"differs from '{prop}' in {EXTENSION}")

    def _has_field(self, prop: str) -> bool:
        return any(item.prop == prop for item in self.form.fields)


def _kind_of(item: Node) -> str:
    kind = item.child("kind").string()
    if kind not in (*TENSOR_KINDS, *OTHER_KINDS, "imm_value"):
        item.child("kind").fail(f"Unsupported argument kind '{kind}'")
    return kind


def _differs(given: Json, expected: Json) -> bool:
    """Whether two values differ; true is not 1."""
    return given != expected or isinstance(given, bool) != isinstance(expected, bool)
