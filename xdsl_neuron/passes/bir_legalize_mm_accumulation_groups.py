"""`bir-legalize-mm-accumulation-groups`: every matmul says whether it accumulates."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import gcd

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.analysis.cells import accesses_of
from xdsl_neuron.analysis.executions import Execution, Undecidable
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects.bir import FuncOp, LoopOp, MemsetOp
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.instructions.systolic import MatmulBase
from xdsl_neuron.dialects.neuron import (
    Access,
    AffineAttr,
    EngineAttr,
    ImmediateAttr,
    MatmulAccumulateAttr,
)
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import Engine, MatmulAccumulate
from xdsl_neuron.passes.names import NamePool
from xdsl_neuron.passes.rebuild import (
    insert_before,
    kept_properties,
    located,
    operations_of,
)


@dataclass(frozen=True)
class BirLegalizeMmAccumulationGroups(ModulePass):
    """
    Decides each matmul whose `accumulate` is `auto` (bir.md 8.5, design.md 7b).

    An element is fresh until something writes it after its location was executed. A
    matmul into fresh elements overwrites, into others it adds; where only a part is
    fresh, a memset makes that part zero first. In a loop left rolled the answer may be
    `accumulate_if`, an expression that is negative in the first iteration only.

    Precondition: `bir-unroll`.
    Postcondition: no matmul is `auto`.
    """

    name = "bir-legalize-mm-accumulation-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decides the matmuls of every function, all of them or none."""
        changes = [
            change
            for function in operations_of(op, FuncOp)
            for change in _decisions(function)
        ]
        for change in changes:
            change()


Change = Callable[[], None]


def _decisions(function: FuncOp) -> Iterator[Change]:
    """The changes that decide every open matmul of a function."""
    instructions = operations_of(function, Instruction)
    products = [op for op in instructions if isinstance(op, MatmulBase)]
    for transpose in products:
        if transpose.accumulate.data is MatmulAccumulate.AUTO and (
            transpose.accumulate_if is None and not transpose.is_open
        ):
            yield partial(_set, transpose, MatmulAccumulate.OVERWRITE)
    matmuls = [op for op in products if op.is_open]
    if not matmuls:
        return
    tracked = {matmul.data_values()["dst"] for matmul in matmuls}
    freshness = _Freshness(_units(instructions, tracked))
    loops = {matmul: _inner_loops(matmul) for matmul in matmuls}
    freshness.loops = loops
    execution = Execution(
        tracked, lambda operation: freshness.visit(execution, operation)
    )
    try:
        execution.run(function.body.block)
    except Undecidable:
        raise DiagnosticError(
            matmuls[0],
            "accumulates where it cannot be known what is fresh: a rolled loop has too "
            "many different iterations, or an offset is in a register; say accumulate "
            "or raise max-instructions of bir-unroll",
        ) from None
    names = NamePool(op.inst_name.data for op in instructions if op.inst_name)
    for matmul in matmuls:
        records = freshness.records.get(matmul, {})
        unit = freshness.units[matmul.data_values()["dst"]]
        yield _Decision(matmul, loops[matmul], unit, names).change(records)


def _units(
    instructions: Sequence[Instruction], tracked: set[SSAValue]
) -> dict[SSAValue, int]:
    """Bytes of a cell for each location: what all its accesses are made of."""
    units = dict.fromkeys(tracked, 0)
    for operation in instructions:
        if tracked.isdisjoint(operation.operands):
            continue
        for operand in operation.data().values():
            if operand.value in tracked:
                units[operand.value] = gcd(units[operand.value], operand.dtype.bytes)
    return units


def _inner_loops(matmul: MatmulBase) -> list[LoopOp]:
    """The loops around a matmul and inside the scope of its location."""
    location = matmul.data_values()["dst"]
    if not isinstance(location, OpResult):
        raise DiagnosticError(matmul, "accumulates into something that is no location")
    scope = location.op.parent
    found: list[LoopOp] = []
    parent = matmul.parent_op()
    block = matmul.parent
    while block is not scope:
        if not isinstance(parent, LoopOp):
            raise DiagnosticError(
                matmul, "accumulates in a loop that is not static; state accumulate"
            )
        found.append(parent)
        block, parent = parent.parent, parent.parent_op()
    return found[::-1]


_ALL = -1


@dataclass(frozen=True, slots=True)
class _Record:
    """What an execution of a matmul found of its destination."""

    fresh: int
    """The fresh cells; `_ALL` where no others are touched."""
    rest: bool
    """Whether others were not fresh."""


Records = dict[tuple[int, ...], set[_Record]]
"""By the indices of the loops inside the location's scope."""


@dataclass
class _Freshness:
    """Follows which cells of PSUM locations have been written."""

    units: dict[SSAValue, int]
    loops: dict[MatmulBase, list[LoopOp]] = field(
        default_factory=dict[MatmulBase, list[LoopOp]]
    )
    written: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    records: dict[Operation, Records] = field(default_factory=dict[Operation, Records])

    def visit(self, execution: Execution, operation: Operation) -> None:
        """One operation that defines or uses a tracked location."""
        for result in operation.results:
            self.written[result] = 0
        if not isinstance(operation, Instruction):
            return
        data = operation.data()
        for name in operation.OUTS:
            operand = data.get(name)
            unit = None if operand is None else self.units.get(operand.value)
            if operand is None or unit is None:
                continue
            touched = execution.cells(operation, operand, unit)
            before = self.written.get(operand.value, 0)
            if touched and isinstance(operation, MatmulBase) and operation.is_open:
                held = touched & before
                record = _Record(touched ^ held if held else _ALL, bool(held))
                indices = tuple(
                    execution.numbers[loop.index] for loop in self.loops[operation]
                )
                found = self.records.setdefault(operation, {})
                found.setdefault(indices, set()).add(record)
            self.written[operand.value] = before | touched


def _set(matmul: MatmulBase, how: MatmulAccumulate) -> None:
    matmul.properties["accumulate"] = MatmulAccumulateAttr(how)


@dataclass(frozen=True)
class _Decision:
    """What becomes of one open matmul."""

    matmul: MatmulBase
    loops: list[LoopOp]
    unit: int
    names: NamePool

    def change(self, records: Records) -> Change:
        """The change that says what the executions found."""
        found = set[_Record]().union(*records.values())
        if not any(record.fresh for record in found):
            return lambda: self._state(MatmulAccumulate.ACCUMULATE)
        if not any(record.rest for record in found):
            return lambda: self._state(MatmulAccumulate.OVERWRITE)
        if len(found) == 1:
            return self._cleared(found.pop().fresh, self.matmul)
        first = self._first(records)
        (record,) = records[first]
        if record.rest:
            return self._cleared(record.fresh, self.loops[0])
        return lambda: self._accumulate_after(first)

    def _first(self, records: Records) -> tuple[int, ...]:
        """The one iteration that finds fresh elements, the least in every loop."""
        starts = [at for at, found in records.items() if any(r.fresh for r in found)]
        first = starts[0]
        others = [at for at in records if at != first]
        least = all(a <= b for at in others for a, b in zip(first, at, strict=True))
        if len(starts) > 1 or len(records[first]) > 1 or not least:
            raise DiagnosticError(
                self.matmul,
                "accumulates in a loop left rolled, where it finds fresh elements in "
                "other iterations than the first; state accumulate or raise "
                "max-instructions of bir-unroll",
            )
        return first

    def _state(self, how: MatmulAccumulate) -> None:
        _set(self.matmul, how)

    def _accumulate_after(self, first: tuple[int, ...]) -> None:
        """Accumulate in all iterations but one: some index is above its value there."""
        matmul = self.matmul
        condition = Affine(-1 - sum(first))
        indices = list(matmul.loop_indices())
        added: list[SSAValue] = []
        for loop in self.loops:
            if loop.index not in indices:
                indices.append(loop.index)
                added.append(loop.index)
            condition = condition + Affine.index(indices.index(loop.index))
        matmul.append_indices(added)
        matmul.properties["accumulate_if"] = AffineAttr(condition)

    def _cleared(self, fresh: int, anchor: Operation) -> Change:
        """Zero the fresh part before `anchor`, then accumulate."""
        dst = self.matmul.data()["dst"]
        memsets = [
            located(self._memset(dst, access), self.matmul)
            for access in self._pieces(dst, fresh)
        ]

        def change() -> None:
            insert_before(anchor, memsets)
            self._state(MatmulAccumulate.ACCUMULATE)

        return change

    def _pieces(self, dst: Operand, fresh: int) -> list[Access]:
        spec = dst.type.data
        pitch = spec.bytes_per_partition // self.unit
        size = dst.dtype.bytes
        found = accesses_of(fresh, pitch, spec.shape[0], size // self.unit)
        if found is None:
            raise DiagnosticError(
                self.matmul, "finds parts of elements fresh; use one type for a tile"
            )
        seen = None if dst.dtype is spec.dtype else dst.dtype
        pieces = [replace(access, dtype=seen) for access in found]
        arch = target_of(self.matmul)
        for access in pieces:
            assert access.partition is not None
            count = access.pairs[0][1]
            start = access.partition.constant
            problem = arch and arch.partition_start_error(start, count)
            if problem:
                raise DiagnosticError(
                    self.matmul,
                    f"finds only partitions {start} to {start + count - 1} of 'dst' "
                    f"fresh, which cannot be set to zero: {problem}",
                )
        return pieces

    def _memset(self, dst: Operand, access: Access) -> MemsetOp:
        name = self.matmul.inst_name
        properties: dict[str, Attribute] = {
            "value": ImmediateAttr.of(0.0),
            "engine": EngineAttr(Engine.DVE),
        }
        if name is not None:
            properties["inst_name"] = StringAttr(self.names.fresh(f"{name.data}_zero"))
        properties |= kept_properties(self.matmul, "iterations")
        return MemsetOp.make((dst.value,), properties, (access,))
