"""`penguin-initialize-tensors`: the initial value of what nothing writes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import gcd

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.analysis.cells import accesses_of
from xdsl_neuron.analysis.executions import Execution, Undecidable
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.blocks import block_elements, usable_bytes
from xdsl_neuron.dialects.effects import Effect, Writes
from xdsl_neuron.dialects.instruction import Instruction, Operand, target_of
from xdsl_neuron.dialects.instructions.dma_indirect import IndirectInstruction
from xdsl_neuron.dialects.instructions.systolic import MatmulBase
from xdsl_neuron.dialects.neuron import (
    PARTITIONS,
    Access,
    ImmediateAttr,
    Pair,
    PredicatesAttr,
    TensorType,
)
from xdsl_neuron.dialects.structure import For
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import Space
from xdsl_neuron.passes.rebuild import located, operations_of

MAX_CELLS = 1 << 23
"""Elements of a tensor up to which is followed what has been written of it."""

_TILE_COLUMNS = 2048
"""Columns of the tile an HBM tensor is filled from."""


@dataclass(frozen=True)
class PenguinInitializeTensors(ModulePass):
    """
    Makes the `init` of an allocation a memset, where an element is read unwritten.

    The memset stands behind the allocation; in a loop it has a predicate where only the
    last or first iterations need it. A tensor that is written before it is read gets
    none, as does a PSUM tile that matmuls overwrite while it is fresh; what of it is
    read before is zero and added to, which differs from overwriting in the sign of a
    zero at most. A tensor in HBM is filled by DMA from a tile.

    Precondition: `penguin-lower-predicates`, else a mask that is no box counts by its
    rows.
    Postcondition: no allocation has an `init`.
    """

    name = "penguin-initialize-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Initialises the allocations of every function, all of them or none."""
        changes = [
            change
            for function in operations_of(op, penguin.FuncOp)
            for change in _changes(function)
        ]
        for allocation, new in changes:
            block = allocation.parent
            assert block is not None
            for operation in reversed(new):
                block.insert_op_after(located(operation, allocation), allocation)
            del allocation.properties["init"]


def _changes(
    function: penguin.FuncOp,
) -> list[tuple[penguin.AllocOp, list[Operation]]]:
    """What goes behind each allocation that has an initial value."""
    allocations = [
        op for op in operations_of(function, penguin.AllocOp) if op.init is not None
    ]
    if not allocations:
        return []
    followed = [op for op in allocations if op.tensor.data.size <= MAX_CELLS]
    coverage = _Coverage.of(function, followed)
    return [(op, _initialised(op, coverage.gaps.get(op))) for op in allocations]


@dataclass
class _Gaps:
    """What is read unwritten of an allocation, and when."""

    executed: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])
    needed: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])
    missing: int = 0
    """The cells read unwritten, in any iteration."""
    unit: int = 1
    matmuls: bool = False
    """Whether a matmul asks if the tile is fresh."""
    late: bool = False
    """Whether one finds elements fresh that have been read before."""


class _Coverage:
    """Follows what has been written of the allocations, as the function executes."""

    def __init__(self, allocations: Sequence[penguin.AllocOp]) -> None:
        self.gaps = {op: _Gaps() for op in allocations}
        self.owners: dict[SSAValue, penguin.AllocOp] = {
            op.results[0]: op for op in allocations
        }
        self.loops = {op: _loops_around(op) for op in allocations}
        self.written: dict[SSAValue, int] = {}
        self.now: dict[SSAValue, tuple[int, ...]] = {}

    @staticmethod
    def of(
        function: penguin.FuncOp, allocations: Sequence[penguin.AllocOp]
    ) -> "_Coverage":
        """The coverage of a function; where it is unknown, everything is missing."""
        coverage = _Coverage(allocations)
        coverage.find_units(function)
        execution = Execution(
            set(coverage.owners), lambda operation: coverage.visit(execution, operation)
        )
        try:
            execution.run(function.body.block)
        except Undecidable:
            for allocation, gaps in coverage.gaps.items():
                gaps.executed = gaps.needed = {()}
                size = allocation.tensor.data.size * allocation.tensor.dtype.bytes
                gaps.missing = 0 if gaps.matmuls else (1 << size // gaps.unit) - 1
        return coverage

    def find_units(self, function: penguin.FuncOp) -> None:
        units = dict.fromkeys(self.owners, 0)
        for operation in operations_of(function, Instruction):
            if units.keys().isdisjoint(operation.operands):
                continue
            for operand in operation.data().values():
                owner = self.owners.get(operand.value)
                if owner is None:
                    continue
                size = operand.dtype.bytes
                units[operand.value] = gcd(units[operand.value], size)
                self.gaps[owner].matmuls |= (
                    _is_open_matmul(operation) and operand.name == "dst"
                )
        for value, owner in self.owners.items():
            self.gaps[owner].unit = units[value] or owner.tensor.dtype.bytes

    def visit(self, execution: Execution, operation: Operation) -> None:
        """One operation that allocates or uses a followed tensor."""
        if isinstance(operation, penguin.AllocOp):
            value = operation.results[0]
            self.written[value] = 0
            loops = self.loops[operation]
            self.now[value] = tuple(execution.numbers[loop.index] for loop in loops)
            self.gaps[operation].executed.add(self.now[value])
            return
        if not isinstance(operation, Instruction):
            for value in operation.operands:
                if value in self.owners:
                    self._read(value, self._all(value))
            return
        data = operation.data()
        used = [o for o in data.values() if o.value in self.owners]
        for operand in used:
            if _reads(operation.effect(operand.name)):
                self._read(operand.value, self._touched(execution, operation, operand))
        for operand in used:
            if operation.effect(operand.name).writes is Writes.ALL:
                touched = self._touched(execution, operation, operand)
                gaps = self.gaps[self.owners[operand.value]]
                fresh = touched & ~self.written[operand.value]
                gaps.late |= bool(fresh & gaps.missing) and _is_open_matmul(operation)
                self.written[operand.value] |= touched

    def _touched(
        self, execution: Execution, operation: Instruction, operand: Operand
    ) -> int:
        if isinstance(operation, IndirectInstruction):
            if operand.name == operation.INDEXED:
                return self._all(operand.value)
        unit = self.gaps[self.owners[operand.value]].unit
        return execution.cells(operation, operand, unit)

    def _all(self, value: SSAValue) -> int:
        owner = self.owners[value]
        spec = owner.tensor.data
        return (1 << spec.size * spec.dtype.bytes // self.gaps[owner].unit) - 1

    def _read(self, value: SSAValue, touched: int) -> None:
        missing = touched & ~self.written[value]
        if missing:
            gaps = self.gaps[self.owners[value]]
            gaps.missing |= missing
            gaps.needed.add(self.now[value])


def _is_open_matmul(operation: Instruction) -> bool:
    return isinstance(operation, MatmulBase) and operation.is_open


def _reads(effect: Effect) -> bool:
    """Whether what was never written matters; an open matmul overwrites it."""
    return effect.reads and not effect.if_written


def _loops_around(operation: Operation) -> list[For]:
    """The loops around an operation, outermost first."""
    found: list[For] = []
    parent = operation.parent_op()
    while parent is not None and not isinstance(parent, penguin.FuncOp):
        if isinstance(parent, For):
            found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _initialised(allocation: penguin.AllocOp, gaps: _Gaps | None) -> list[Operation]:
    """The operations that give an allocation its initial value, where it needs one."""
    value = _value(allocation)
    if allocation.tensor.space is Space.HBM:
        return [] if gaps and not gaps.needed else _filled_from_tile(allocation, value)
    if gaps is None:
        return [_memset(allocation, value, access) for access in _wholes(allocation)]
    if not gaps.missing:
        return []
    if gaps.matmuls:
        if gaps.late and value.value:
            raise DiagnosticError(
                allocation,
                f"is read before a matmul that adds to its initial value {value.data}; "
                "set it with a memset",
            )
        return [
            _memset(allocation, value, access)
            for access in _missing_accesses(allocation, gaps)
        ]
    condition = _condition(allocation, gaps)
    return [
        _memset(allocation, value, access, *condition) for access in _wholes(allocation)
    ]


def _block_size(allocation: penguin.AllocOp) -> int | None:
    """Elements of a partition in a block, None where an access may run over several."""
    kind, arch = allocation.tensor, target_of(allocation)
    if arch is None or allocation.block_count == 1:
        return None
    if kind.data.bytes_per_partition <= usable_bytes(kind.space, arch):
        return None
    return block_elements(kind, allocation.block_count)


def _wholes(allocation: penguin.AllocOp) -> list[Access | None]:
    """What covers the tensor: one access, or one for each block of it."""
    size, kind = _block_size(allocation), allocation.tensor
    if size is None:
        return [None]
    pairs = ((1, kind.shape[0]), (1, size))
    return [
        Access(Affine(start), pairs, Affine(0))
        for start in range(0, kind.data.pitch, size)
    ]


def _in_blocks(
    start: int, pairs: Sequence[Pair], size: int
) -> Iterator[tuple[int, Sequence[Pair]]]:
    """The same elements of a partition as patterns that each stay in one block."""
    low, high = Pattern(start, tuple(pairs)).bounds()
    if low // size == high // size:
        yield start, pairs
        return
    (step, num), *rest = pairs
    if rest:
        for k in range(num):
            yield from _in_blocks(start + step * k, rest, size)
        return
    for _, elements in groupby(range(num), lambda k: (start + step * k) // size):
        first, *others = elements
        yield start + step * first, ((step, 1 + len(others)),)


def _value(allocation: penguin.AllocOp) -> ImmediateAttr:
    """The initial value as an immediate of the tensor's type."""
    assert allocation.init is not None
    value, dtype = allocation.init.value, allocation.tensor.dtype
    if dtype.is_packed and value:
        raise DiagnosticError(
            allocation,
            f"fills packed {dtype.nki_name} with {value}, only 0 is possible",
        )
    # Beyond 2^24 an integer and its fp32 are not the same.
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 1 << 24
    if dtype.is_integer and exact:
        return ImmediateAttr.of(int(value))
    return allocation.init


def _memset(
    allocation: penguin.AllocOp,
    value: ImmediateAttr,
    access: Access | None,
    predicate: PredicatesAttr | None = None,
    indices: Sequence[SSAValue] = (),
) -> Operation:
    properties: dict[str, Attribute] = {"value": value}
    if predicate is not None:
        properties["predicates"] = predicate
    tensor = allocation.results[0]
    return penguin.MemsetOp.make((tensor,), properties, (access,), indices)


def _missing_accesses(allocation: penguin.AllocOp, gaps: _Gaps) -> list[Access]:
    spec = allocation.tensor.data
    pitch = spec.bytes_per_partition // gaps.unit
    scale = spec.dtype.bytes // gaps.unit
    found = accesses_of(gaps.missing, pitch, spec.shape[0], scale)
    if found is None:
        raise DiagnosticError(
            allocation, "is read in parts of elements; use one type for a tile"
        )
    size = _block_size(allocation)
    if size is None:
        return list(found)
    return [
        Access(Affine(start), (access.pairs[0], *pairs), access.partition)
        for access in found
        for start, pairs in _in_blocks(access.offset.constant, access.pairs[1:], size)
    ]


def _condition(
    allocation: penguin.AllocOp, gaps: _Gaps
) -> tuple[PredicatesAttr | None, Sequence[SSAValue]]:
    """When the memset is needed, where that is all iterations from or up to one."""
    if gaps.needed == gaps.executed:
        return None, ()
    for place, loop in enumerate(_loops_around(allocation)):
        values = {at[place] for at in gaps.needed}
        first, last = min(values), max(values)
        tests: tuple[tuple[Callable[[int], bool], Affine], ...] = (
            (lambda value, first=first: value >= first, Affine.index(0) - first),
            (lambda value, last=last: value <= last, last - Affine.index(0)),
        )
        for holds, predicate in tests:
            if gaps.needed == {at for at in gaps.executed if holds(at[place])}:
                return PredicatesAttr((predicate,)), (loop.index,)
    return None, ()


def _filled_from_tile(
    allocation: penguin.AllocOp, value: ImmediateAttr
) -> list[Operation]:
    """
    DMAs from a tile of the value into a tensor in HBM.

    Seen as rows for all partitions, each a repetition of the tile's columns, and
    what is left over.
    """
    spec = allocation.tensor.data
    per_partition, rest = divmod(spec.size, PARTITIONS)
    columns = _divisor(per_partition, _TILE_COLUMNS)
    kind = TensorType.of((PARTITIONS, columns), spec.dtype, Space.SBUF)
    tile = penguin.AllocOp.make(kind, "fill")
    fill = tile.results[0]
    new: list[Operation] = [tile, penguin.MemsetOp.make((fill,), {"value": value})]
    zero = Affine(0)
    if per_partition:
        repeats = per_partition // columns
        dst = ((per_partition, PARTITIONS), (columns, repeats), (1, columns))
        src = ((1, PARTITIONS), (0, repeats), (1, columns))
        new.append(
            penguin.DMACopyOp.make(
                (allocation.results[0], fill),
                {},
                (Access(zero, dst), Access(zero, src, zero)),
            )
        )
    if rest:
        new.append(
            penguin.DMACopyOp.make(
                (allocation.results[0], fill),
                {},
                (
                    Access(Affine(per_partition * PARTITIONS), ((1, rest), (1, 1))),
                    Access(zero, ((1, rest), (1, 1)), zero),
                ),
            )
        )
    return new


def _divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is not above `most`; 1 for 0."""
    if number <= most:
        return max(number, 1)
    return max(d for d in range(1, most + 1) if number % d == 0)
