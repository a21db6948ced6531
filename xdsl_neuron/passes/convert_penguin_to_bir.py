"""`convert-penguin-to-bir`: functions, buffers and instructions of the back end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.analysis.frame import renumbered
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects import bir, penguin
from xdsl_neuron.dialects.defined import meaning_of
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.elementwise import TensorTensor
from xdsl_neuron.dialects.instructions.matrix import Transpose
from xdsl_neuron.dialects.instructions.transpose import LEGAL_AXES, DmaTranspose
from xdsl_neuron.dialects.neuron import (
    Access,
    AccessesAttr,
    EngineAttr,
    PredicatesAttr,
    TensorType,
)
from xdsl_neuron.isa import AluOp, Engine, Space, TensorKind
from xdsl_neuron.passes.names import NamePool
from xdsl_neuron.passes.rebuild import located, operations_of, replace_with


@dataclass(frozen=True)
class ConvertPenguinToBir(ModulePass):
    """
    Turns each `penguin.func` into a `bir.func` (penguin.md 10).

    Arguments become `ExternalInput` locations, returned HBM tensors `ExternalOutput`,
    all other buffers `Internal`, where they were allocated. Every instruction gets a
    name and an engine: the one it asks for, else the first of its class that fits.
    Quality-of-service and DGE requests stay requests.

    Precondition: no allocation has an `init` (`penguin-initialize-tensors`), no
    transpose runs on the tensor engine (`penguin-lower-transpose`).
    Postcondition: no `penguin` operation is left in a function.
    """

    name = "convert-penguin-to-bir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Converts every `penguin.func`, all of them or none."""
        functions = operations_of(op, penguin.FuncOp)
        _refuse_outside(op)
        converted = [Conversion(function).run() for function in functions]
        for function, new in zip(functions, converted, strict=True):
            replace_with(function, [new])


def _refuse_outside(root: Operation) -> None:
    """A `penguin` operation outside of a `penguin.func` would stay behind."""
    for region in root.regions:
        for block in region.blocks:
            for operation in block.ops:
                if isinstance(operation, penguin.FuncOp):
                    continue
                if operation.name.startswith(penguin.Penguin.name + "."):
                    raise DiagnosticError(
                        operation,
                        "is not in a penguin.func, which is what is converted; move "
                        "it into one",
                    )
                _refuse_outside(operation)


class Conversion:
    """The conversion of one function; handlers append to it."""

    def __init__(self, function: penguin.FuncOp) -> None:
        self.function = function
        self.values: dict[SSAValue, SSAValue] = {}
        self.outputs = _output_names(function)
        self.instruction_names = NamePool(_given_names(function))
        self.location_names = NamePool()
        for name in (*function.names, *self.outputs.values()):
            self.location_names.reserve(name)
        self.block = Block()

    def run(self) -> bir.FuncOp:
        """The converted function."""
        function = self.function
        new = bir.FuncOp.make(function.sym_name.data)
        new.attributes.update(function.attributes)
        self.block = new.body.block
        mutable = function.mutable_positions
        for position, argument in enumerate(function.arguments):
            kind = argument.type
            assert isinstance(kind, TensorType)
            location = bir.LocationOp.make(
                kind, function.names[position], TensorKind.INPUT, position in mutable
            )
            self.values[argument] = located(location, function).results[0]
            self.block.add_op(location)
        self._operations(function.body.block)
        return new

    def emit(self, operation: Operation, origin: Operation) -> None:
        """Appends a new operation that stands for `origin`."""
        self.block.add_op(located(operation, origin))

    def emit_as(
        self,
        kind: type[Instruction],
        origin: Instruction,
        engine: Engine | None = None,
        changes: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        """
        Appends `origin` as an instruction of another class with the same operands.

        `engine` is where it runs; None leaves the class's default. `changes` are
        properties that differ, None where the new class has none.
        """
        properties = {
            key: value
            for key, value in (origin.properties | dict(changes or {})).items()
            if value is not None
        }
        if engine is not None:
            properties["engine"] = EngineAttr(engine)
        properties["inst_name"] = self._name(origin)
        values = self.values
        new = kind.create(
            operands=[values.get(value, value) for value in origin.operands],
            result_types=origin.result_types,
            properties=properties,
            attributes=origin.attributes,
        )
        for old, result in zip(origin.results, new.results, strict=True):
            result.name_hint = old.name_hint
            values[old] = result
        self.emit(new, origin)

    def _name(self, origin: Instruction) -> StringAttr:
        if origin.inst_name is not None:
            return origin.inst_name
        return StringAttr(self.instruction_names.numbered("I"))

    def _operations(self, source: Block) -> None:
        for operation in source.ops:
            handler = handler_of(type(operation))
            if handler is None:
                raise DiagnosticError(
                    operation, "has no counterpart in bir; lower it in penguin first"
                )
            handler(self, operation)

    def loop(self, operation: Operation) -> None:
        """A rolled loop stays one."""
        assert isinstance(operation, penguin.ForOp)
        body = self._nested(operation.body.block)
        new = bir.LoopOp.create(
            properties=operation.properties,
            attributes=operation.attributes,
            regions=[Region(body)],
        )
        self.emit(new, operation)

    def dynamic_loop(self, operation: Operation) -> None:
        """A loop up to a register stays one."""
        assert isinstance(operation, penguin.DynamicForOp)
        body = self._nested(operation.body.block)
        values = self.values
        new = bir.DynamicForLoopOp.create(
            operands=[values[value] for value in operation.registers],
            properties=operation.properties,
            attributes=operation.attributes,
            regions=[Region(body)],
        )
        self.emit(new, operation)

    def do_while(self, operation: Operation) -> None:
        """A do-while stays one."""
        assert isinstance(operation, penguin.DoWhileOp)
        body = self._nested(operation.body.block)
        new = bir.DoWhileOp.create(
            attributes=operation.attributes, regions=[Region(body)]
        )
        self.emit(new, operation)

    def continue_if(self, operation: Operation) -> None:
        """The condition of a do-while."""
        assert isinstance(operation, penguin.ContinueIfOp)
        new = bir.ContinueIfOp.create(
            operands=[self.values[operation.condition]],
            attributes=operation.attributes,
        )
        self.emit(new, operation)

    def _nested(self, source: Block) -> Block:
        """The conversion of a loop's body."""
        outer = self.block
        self.block = block = Block(arg_types=[IndexType() for _ in source.args])
        for old, new in zip(source.args, block.args, strict=True):
            new.name_hint = old.name_hint
            self.values[old] = new
        self._operations(source)
        self.block = outer
        return block

    def allocation(self, operation: Operation) -> None:
        """A buffer becomes a location of the same lifetime."""
        assert isinstance(operation, penguin.AllocOp)
        if operation.init is not None:
            raise DiagnosticError(
                operation, "has an init; run penguin-initialize-tensors first"
            )
        if operation.expand is not None:
            raise DiagnosticError(
                operation, "is to expand; run penguin-scalar-expansion first"
            )
        value: SSAValue = operation.results[0]
        output = self.outputs.pop(value, None)
        hint = value.name_hint
        name = output or self.location_names.fresh(hint or "t")
        role = TensorKind.INTERNAL if output is None else TensorKind.OUTPUT
        storage = {
            key: operation.properties[key]
            for key in ("blocks", "addresses")
            if key in operation.properties
        }
        new = bir.LocationOp.make(operation.tensor, name, role, storage=storage)
        new.attributes.update(operation.attributes)
        self.values[value] = new.results[0]
        self.emit(new, operation)

    def constant(self, operation: Operation) -> None:
        """A constant is a location with contents."""
        assert isinstance(operation, penguin.ConstantOp)
        value: SSAValue = operation.results[0]
        new = bir.LocationOp.make(
            operation.tensor,
            self.location_names.fresh(value.name_hint or "c"),
            TensorKind.CONST,
            contents=operation.contents.data,
        )
        new.attributes.update(operation.attributes)
        self.values[value] = new.results[0]
        self.emit(new, operation)

    def end(self, operation: Operation) -> None:
        """The outputs keep their names."""
        assert isinstance(operation, penguin.ReturnOp)
        new = bir.ReturnOp.create(
            operands=[self.values[value] for value in operation.operands],
            properties=operation.properties,
            attributes=operation.attributes,
        )
        self.emit(new, operation)


Handler: TypeAlias = Callable[[Conversion, Operation], None]


def default_engine(operation: ComputeInstruction) -> Engine:
    """
    The engine an instruction runs on: the one it asks for, else the first that fits.

    A 32-bit integer operation goes to GpSIMD, which alone computes it without fp32
    (penguin.md 2.2); a transpose into SBUF to the vector engine.
    """
    asked = operation.engine.data
    if asked is not Engine.UNASSIGNED:
        return asked
    if isinstance(operation, TensorTensor):
        return _tensor_tensor_engine(operation)
    if isinstance(operation, Transpose):
        return Engine.DVE if operation.on_vector_engine else Engine.PE
    psum = any(o.space is Space.PSUM for o in operation.data().values())
    reaching = [e for e in operation.ENGINES if not (psum and e is Engine.POOL)]
    return reaching[0]


def _tensor_tensor_engine(operation: TensorTensor) -> Engine:
    """GpSIMD alone has power and exact integers; it does not reach PSUM."""
    if operation.native_int32:
        return Engine.POOL
    psum = any(o.space is Space.PSUM for o in operation.data().values())
    on_pool = operation.op.data is AluOp.POW and not psum
    return Engine.POOL if on_pool else Engine.DVE


def _compute(kind: type[Instruction]) -> Handler:
    def handler(conversion: Conversion, operation: Operation) -> None:
        assert isinstance(operation, ComputeInstruction)
        conversion.emit_as(kind, operation, default_engine(operation))

    return handler


def _same(kind: type[Instruction]) -> Handler:
    def handler(conversion: Conversion, operation: Operation) -> None:
        assert isinstance(operation, Instruction)
        conversion.emit_as(kind, operation)

    return handler


def _store(conversion: Conversion, operation: Operation) -> None:
    """An accumulating store is a DMACopy: Save has no op field (dma.md 5.1, 13.5)."""
    assert isinstance(operation, penguin.SBAtomStoreOp)
    plain = operation.rmw_op is None
    conversion.emit_as(bir.SaveOp if plain else bir.DMACopyOp, operation)


def _copy(conversion: Conversion, operation: Operation) -> None:
    """The copy of the back end has no index operands; a verified one uses none."""
    assert isinstance(operation, penguin.DMACopyOp)
    changes: dict[str, Attribute | None] = {"operandSegmentSizes": None}
    if operation.engine.data is Engine.UNASSIGNED:
        changes["engine"] = None
    if operation.accesses is not None:
        sides = operation.accesses.data[: len(bir.DMACopyOp.layout().names)]
        changes["accesses"] = AccessesAttr(sides)
    conversion.emit_as(bir.DMACopyOp, operation, None, changes)


def _dma_transpose(kind: type[DmaTranspose], engine: Engine | None) -> Handler:
    def handler(conversion: Conversion, operation: Operation) -> None:
        assert isinstance(operation, DmaTranspose)
        padded = _four_dimensions(operation)
        conversion.emit_as(kind, operation, engine, padded)

    return handler


def _four_dimensions(operation: DmaTranspose) -> dict[str, Attribute]:
    """
    The properties of a transpose with unit dimensions added (dma.md 13.14).

    (1, 0) of [W, X] is XZYW of [W, 1, 1, X], (2, 1, 0) of [W, Y, X] that of
    [W, 1, Y, X].
    """
    data = operation.data()
    missing = 4 - len(data["src"].shape)
    accesses: list[Access | None] = []
    for name in operation.layout().names:
        access = data[name].access
        if name != "index":
            first, *rest = access.pairs
            access = replace(access, pairs=(first, *((1, 1),) * missing, *rest))
        accesses.append(access)
    properties: dict[str, Attribute] = {
        "accesses": AccessesAttr(tuple(accesses)),
        "axes": DenseArrayBase.from_list(i64, LEGAL_AXES[4]),
    }
    if operation.masks():
        properties["predicates"] = PredicatesAttr(
            tuple(renumbered(p, (0, *range(1 + missing, 4))) for p in operation.masks())
        )
    return properties


def _transpose(conversion: Conversion, operation: Operation) -> None:
    """The vector engine has an instruction for it; the tensor engine has not."""
    assert isinstance(operation, penguin.TransposeOp)
    engine = default_engine(operation)
    if engine is not Engine.DVE:
        raise DiagnosticError(
            operation,
            "on the tensor engine is a matmul with an identity; run "
            "penguin-lower-transpose first",
        )
    conversion.emit_as(bir.StreamTransposeOp, operation, engine)


_HANDLERS: dict[type[Operation], Handler] = {
    penguin.ForOp: Conversion.loop,
    penguin.DynamicForOp: Conversion.dynamic_loop,
    penguin.DoWhileOp: Conversion.do_while,
    penguin.ContinueIfOp: Conversion.continue_if,
    penguin.AllocOp: Conversion.allocation,
    penguin.ConstantOp: Conversion.constant,
    penguin.ReturnOp: Conversion.end,
    penguin.SBAtomStoreOp: _store,
    penguin.DMACopyOp: _copy,
    penguin.DMATransposeLoadOp: _dma_transpose(bir.DMACopyTransposeOp, None),
    penguin.DMATransposeCopyOp: _dma_transpose(bir.DMACopyTransposeOp, None),
    penguin.DMAIndirectTransposeOp: _dma_transpose(
        bir.DMACopyGatherTransposeOp, Engine.POOL
    ),
    penguin.TransposeOp: _transpose,
}
"""What is more than a change of name."""


@cache
def _counterparts() -> dict[type[Operation], type[Instruction]]:
    """The first instruction of bir of each meaning."""
    found: dict[type[Operation], type[Instruction]] = {}
    for kind in bir.Bir.operations:
        meaning = meaning_of(kind)
        if meaning is not None and issubclass(kind, Instruction):
            found.setdefault(meaning, kind)
    return found


def handler_of(kind: type[Operation]) -> Handler | None:
    """
    What converts operations of a class, None where nothing does.

    An instruction that bir has with the same meaning becomes that one.
    """
    found = _HANDLERS.get(kind)
    if found is not None or not issubclass(kind, Instruction):
        return found
    if not kind.name.startswith(f"{penguin.Penguin.name}."):
        return None
    meaning = meaning_of(kind)
    counterpart = None if meaning is None else _counterparts().get(meaning)
    if counterpart is None:
        return None
    make = _compute if issubclass(kind, ComputeInstruction) else _same
    found = _HANDLERS[kind] = make(counterpart)
    return found


def register_handler(kind: type[Operation], handler: Handler) -> None:
    """Lowers operations of a class by `handler` from now on."""
    _HANDLERS[kind] = handler


def _output_names(function: penguin.FuncOp) -> dict[SSAValue, str]:
    """
    The location name of each returned buffer: its first output's, unless taken.

    Arguments that are returned stay inputs.
    """
    last = function.body.block.last_op
    if not isinstance(last, penguin.ReturnOp):
        return {}
    pool = NamePool(function.names)
    arguments: Sequence[SSAValue] = function.arguments
    found: dict[SSAValue, str] = {value: "" for value in arguments}
    for name, value in zip(last.output_names, last.operands, strict=True):
        if value not in found:
            found[value] = pool.fresh(name)
    return {value: name for value, name in found.items() if name}


def _given_names(function: penguin.FuncOp) -> set[str]:
    """The names instructions have already; one given twice is refused."""
    found = set[str]()
    for operation in function.walk():
        if not isinstance(operation, Instruction) or operation.inst_name is None:
            continue
        name = operation.inst_name.data
        if name in found:
            raise DiagnosticError(operation, f"has the name '{name}' of another one")
        found.add(name)
    return found
