"""
The base of all instructions: operands with accesses, predicates, one text form.

A subclass is its row: `OUTS` and `INS` name its tensor operands (declared in that
order with `operand_def` or `opt_operand_def`), properties are its fields, methods
marked with `@gate` its rules. Loop indices are one trailing variadic operand.

    penguin.tensor_tensor @I3 add %u <- %t[0, 0][1 x 44, 1 x 512], %s {engine = DVE}
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import ClassVar, Final, Self

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.irdl import (
    OptOperandDef,
    opt_prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch, get_arch
from xdsl_neuron.dialects.blocks import block_count, check_one_block
from xdsl_neuron.dialects.effects import KEEP, OVERWRITE, READ, Effect, StateEffect
from xdsl_neuron.dialects.gate import Stage, check_gates, gate
from xdsl_neuron.dialects.neuron import (
    Access,
    AccessesAttr,
    PredicatesAttr,
    TargetAttr,
    TensorKindAttr,
    TensorType,
    whole,
)
from xdsl_neuron.dialects.operand import Operand, inclusive, out_of_bounds
from xdsl_neuron.dialects.scheduled import Scheduled
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.affine_image import image
from xdsl_neuron.geometry.mask import Box, boxes, clip
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import TensorKind

MAX_DIMS = 1 + Arch.max_free_dims
"""Dimensions of a hardware access pattern: partition and four free (nki.md 4.2)."""

REGISTER_BITS: Final = 32
PAIR_BITS: Final = 64
"""Bits of one register, and of a pair (bir.md 5)."""

_ENUMERATED_ITERATIONS = 1024

_MEMO = "_operands_being_verified"
"""Where an instruction keeps its operands while its gates run."""


@dataclass(frozen=True)
class Layout:
    """What the text form needs to know of an instruction's class."""

    names: tuple[str, ...]
    outs: int
    optional: frozenset[str]
    fields: dict[str, type[Attribute] | None]


RESERVED = frozenset(
    {"accesses", "predicates", "inst_name", "operandSegmentSizes"},
)
"""Properties with a place of their own in the text form."""


class Instruction(Scheduled):
    """An instruction on tensors."""

    OUTS: ClassVar[tuple[str, ...]] = ()
    INS: ClassVar[tuple[str, ...]] = ()
    WHOLE: ClassVar[tuple[str, ...]] = ()
    """Operands that are reached as a whole: a mask clips their partitions at most."""
    RESULTS: ClassVar[tuple[Attribute, ...]] = ()
    """Types of the results; most instructions write tensors and have none."""
    HEADER: ClassVar[tuple[str, ...]] = ()
    """Enumeration properties written bare after the operation's name."""

    indices = var_operand_def(IndexType)
    accesses = opt_prop_def(AccessesAttr)
    predicates = opt_prop_def(PredicatesAttr)

    @classmethod
    @cache
    def layout(cls) -> Layout:
        """Operand names and fields, read once from the class."""
        from xdsl_neuron.dialects.instruction_text import field_class

        definition = cls.get_irdl_definition()
        names = (*cls.OUTS, *cls.INS)
        optional = frozenset(
            name
            for name, operand in definition.operands
            if isinstance(operand, OptOperandDef)
        )
        fields = {
            name: field_class(prop.constr)
            for name, prop in definition.properties.items()
            if name not in RESERVED
        }
        return Layout(names, len(cls.OUTS), optional, fields)

    @classmethod
    def make(
        cls,
        operands: Sequence[SSAValue | None],
        properties: dict[str, Attribute],
        accesses: Sequence[Access | None] = (),
        indices: Sequence[SSAValue] = (),
    ) -> Self:
        """
        Builds the instruction without IRDL's checks.

        `operands` follow `OUTS` and `INS`, None where an optional one is absent;
        the last ones may be left out. `accesses` likewise (None: the whole tensor;
        absent: all whole).
        """
        layout = cls.layout()
        missing = len(layout.names) - len(operands)
        if missing:
            operands = (*operands, *(None,) * missing)
            if accesses:
                accesses = (*accesses, *(None,) * missing)
        present = [value for value in operands if value is not None]
        if any(access is not None for access in accesses):
            properties["accesses"] = AccessesAttr(tuple(accesses))
        if layout.optional:
            from xdsl_neuron.dialects.instruction_text import segment_sizes

            sizes = [0 if value is None else 1 for value in operands]
            properties["operandSegmentSizes"] = segment_sizes((*sizes, len(indices)))
        return cls.create(
            operands=[*present, *indices],
            properties=properties,
            result_types=cls.RESULTS,
        )

    def segments(self) -> tuple[tuple[int, ...], int]:
        """For each declared operand 1 or 0, and the number of present ones."""
        layout = self.layout()
        if not layout.optional:
            return (1,) * len(layout.names), len(layout.names)
        from xdsl_neuron.dialects.instruction_text import declared_segments

        return declared_segments(self)

    def data_values(self) -> dict[str, SSAValue]:
        """The present tensor operands by name."""
        sizes, _ = self.segments()
        values = iter(self._operands)
        return {
            name: value
            for name, size in zip(self.layout().names, sizes, strict=False)
            if size and (value := next(values, None)) is not None
        }

    def loop_indices(self) -> Sequence[SSAValue]:
        """The trailing loop index operands."""
        return self._operands[self.segments()[1] :]

    def append_indices(self, added: Sequence[SSAValue]) -> None:
        """Appends loop index operands."""
        sizes, _ = self.segments()
        total = len(self.loop_indices()) + len(added)
        self.operands = [*self._operands, *added]
        if "operandSegmentSizes" in self.properties:
            from xdsl_neuron.dialects.instruction_text import segment_sizes

            found = segment_sizes((*sizes, total))
            self.properties["operandSegmentSizes"] = found

    def data(self) -> dict[str, Operand]:
        """The present tensor operands by name, each with its access."""
        found = getattr(self, _MEMO, None)
        return self._read_data() if found is None else found

    def _read_data(self) -> dict[str, Operand]:
        names = self.layout().names
        sizes, _ = self.segments()
        given = self.properties.get("accesses")
        accesses = (
            given.data if isinstance(given, AccessesAttr) else (None,) * len(names)
        )
        values = iter(self._operands)
        found: dict[str, Operand] = {}
        for name, size, access in zip(names, sizes, accesses, strict=True):
            if not size:
                continue
            value = next(values)
            kind = value.type
            assert isinstance(kind, TensorType)
            if access is None:
                access = whole(kind.shape, kind.space.on_chip)
            found[name] = Operand(name, value, kind, access)
        return found

    def operand_named(self, name: str) -> Operand:
        """One tensor operand; `KeyError` where it is absent."""
        return self.data()[name]

    @classmethod
    def out_names(cls) -> tuple[str, ...]:
        """Names of the operands that are written."""
        return cls.OUTS

    def effect(self, name: str) -> Effect:
        """
        What happens to the elements of an operand that is there.

        By default inputs are read, and outputs written but for those of
        `kept_outputs`, of which elements may stay.
        """
        if name not in self.OUTS:
            return READ
        return KEEP if name in self.kept_outputs() else OVERWRITE

    def kept_outputs(self) -> tuple[str, ...]:
        """Outputs of which elements may stay as they are, beside what a mask leaves."""
        return ()

    def state_effects(self) -> tuple[StateEffect, ...]:
        """What happens to state that no operand names."""
        return ()

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """
        For each operand, the lane each of its dimensions runs along (-1: none).

        The default is elementwise: lanes are the dimensions of the first output, an
        operand dimension of extent 1 is broadcast.
        """
        lanes = self.lane_shape(data)
        found: dict[str, tuple[int, ...]] = {}
        for name, operand in data.items():
            if len(operand.shape) != len(lanes):
                found[name] = (-1,) * len(operand.shape)
                continue
            found[name] = tuple(
                lane if extent == lanes[lane] else -1
                for lane, extent in enumerate(operand.shape)
            )
        return found

    def lane_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """The extents predicates range over; by default the first output's."""
        first = data.get(self.OUTS[0]) if self.OUTS else None
        return () if first is None else first.shape

    def masks(self) -> tuple[Affine, ...]:
        """The predicates, none where the instruction has no mask."""
        found = self.properties.get("predicates")
        return found.data if isinstance(found, PredicatesAttr) else ()

    def verify_(self) -> None:
        """What the verifier runs behind IRDL's checks."""
        self.check_gates()
        self.check_edges()

    def check_gates(self) -> None:
        """
        Checks the common rules, then every gate of the class, in order.

        Raises `VerifyException`. The tracer calls this on insertion.
        """
        self._check_structure()
        setattr(self, _MEMO, self._read_data())
        try:
            check_gates(self)
        finally:
            delattr(self, _MEMO)

    def _check_structure(self) -> None:
        given = self.properties.get("accesses")
        names = self.layout().names
        if isinstance(given, AccessesAttr) and len(given.data) != len(names):
            raise VerifyException(
                f"has {len(given.data)} accesses, expected one for each of "
                f"{', '.join(names)}"
            )
        sizes, present = self.segments()
        values = self._operands
        if len(sizes) != len(names) or len(values) < present:
            raise VerifyException("operand segments do not match the operands")
        for value in values[:present]:
            if not isinstance(value.type, TensorType):
                raise VerifyException(f"operand has type {value.type}, not a tensor")
        self._check_lanes()
        positions = self._positions()
        if positions and max(positions) >= len(values) - present:
            raise VerifyException(
                f"an access or predicate uses loop index d{max(positions)}, but the "
                f"operation has {len(values) - present} index operands"
            )

    def _check_lanes(self) -> None:
        """Offsets have no lanes; predicates only the instruction's own."""
        accesses = self.properties.get("accesses")
        if isinstance(accesses, AccessesAttr):
            for access in accesses.data:
                if access is not None and access.lanes:
                    raise VerifyException(
                        f"an offset cannot use lane l{min(access.lanes)}"
                    )
        used = set[int]().union(*(e.lanes for e in self.expressions()))
        if not used:
            return
        rank = len(self.lane_shape(self._read_data()))
        if max(used) >= rank:
            raise VerifyException(
                f"uses lane l{max(used)}, but the instruction has {rank} lanes"
            )

    def expressions(self) -> tuple[Affine, ...]:
        """The expressions beside the accesses: predicates, and fields of a class."""
        return self.masks()

    def _positions(self) -> set[int]:
        found: set[int] = set()
        accesses = self.properties.get("accesses")
        if isinstance(accesses, AccessesAttr):
            for access in accesses.data:
                if access is not None:
                    found |= access.positions
        for expression in self.expressions():
            found |= expression.positions
        return found

    @gate(
        "Out-of-bound access for tensor `...` on dimension ... index range ... "
        "exceed dimension size of ...",
        "penguin.md 4.4",
        stage=Stage.BASE,
    )
    def access_bounds(self) -> None:
        """Every access lies in its tensor, in every iteration of static loops."""
        if "accesses" not in self.properties:
            return
        data = self.data()
        ranges = [index_range(value) for value in self.loop_indices()]
        for given in data.values():
            self._check_access(given)
            operand = self.reachable(given)
            problem = out_of_bounds(operand, [inclusive(r) for r in ranges])
            if problem and self.masks():
                problem = self._masked_problem(given, data, ranges)
            if problem:
                raise VerifyException(problem)

    @gate(
        "an offset of 64 bits reaches HBM only",
        "nki.isa.scalar_load of NKI 0.7",
    )
    def offset_registers(self) -> None:
        """Accesses on chip use single registers; a pair is not narrowed."""
        indices = self.loop_indices()
        if "accesses" not in self.properties or not indices:
            return
        pairs = {
            at
            for at, value in enumerate(indices)
            if register_bits(value) != REGISTER_BITS
        }
        if not pairs:
            return
        for operand in self.data().values():
            if operand.space.on_chip and operand.access.positions & pairs:
                raise VerifyException(
                    f"an offset of 64 bits reaches HBM only, but '{operand.name}' is "
                    f"{operand}; use a register of 32 bits"
                )

    def values_of(self, expression: Affine) -> tuple[int, ...]:
        """
        The places on chip that an expression of static loops' indices names, each once.

        At least `MOST_VALUES` of them where they are more, which are more than there
        are partitions, rows or columns: what is legal for them all is legal. None where
        the bounds of a loop are not static.
        """
        if expression.is_constant:
            return (expression.constant,)
        ranges: list[range | None] = []
        indices = self.loop_indices()
        for position in range(max(expression.positions) + 1):
            used = position in expression.positions
            values = index_range(indices[position]) if used else None
            if used and values is None:
                return ()
            ranges.append(values)
        return image(expression, tuple(ranges))

    def bytes_beside(
        self, first: Operand, second: Operand
    ) -> Iterator[tuple[Pattern, Pattern]]:
        """
        The bytes of two accesses to one tensor, to compare.

        They are as far apart as the accesses are, though not at their addresses: one
        pair for each distance that static loops make. None of them where a register
        decides, or a mask what is left in which iteration.
        """
        distance = first.distance(second)
        if not distance.is_constant and self.masks():
            return
        beside = second.bytes_from(0)
        for value in self.values_of(distance):
            yield first.bytes_from(value), beside

    @gate(
        "an access reaches one block", "penguin.md 4.1", "our choice", stage=Stage.BASE
    )
    def one_block(self) -> None:
        """Blocks that do not fit together may lie anywhere."""
        for value in self.data_values().values():
            if block_count(value) > 1:
                arch = target_of(self)
                if arch is not None:
                    ranges = [index_range(value) for value in self.loop_indices()]
                    ends = [inclusive(r) for r in ranges]
                    for operand in self.data().values():
                        check_one_block(operand, arch, ends)
                return

    @gate("Cannot update immutable parameter `...`", "penguin.md 5", stage=Stage.BASE)
    def written_is_mutable(self) -> None:
        """Constants and inputs that are not mutable are not written."""
        values = self.data_values()
        for name in self.OUTS:
            value = values.get(name)
            if value is not None and (reason := _read_only(value)):
                raise VerifyException(
                    f"Cannot update immutable parameter `{value.name_hint or name}`, "
                    f"{reason}"
                )

    def indexed_dim(self, name: str) -> int | None:
        """The dimension of an operand that an index tensor picks, if there is one."""
        return None

    def reachable(self, operand: Operand) -> Operand:
        """The operand with the access whose bounds count (an index widens it)."""
        return operand

    def _check_access(self, operand: Operand) -> None:
        access, spec = operand.access, operand.type.data
        if (access.partition is not None) != spec.space.on_chip:
            expected = "[partition, offset]" if spec.space.on_chip else "[offset]"
            raise VerifyException(
                f"access to {operand.label} in {spec.space} must be written {expected}"
            )
        if spec.space.on_chip and not access.pairs:
            raise VerifyException(f"access to {operand.label} has no partition pair")
        if access.partition is not None and access.pairs[0][0] < 0:
            raise VerifyException(
                f"Negative step in Pattern[0] not supported, got {access.pairs[0][0]} "
                f"for {operand.label}"
            )
        if spec.bytes_per_partition % operand.dtype.bytes:
            raise VerifyException(
                f"access to {operand.label} sees {operand.dtype.ir_name} "
                f"({operand.dtype.bytes} bytes), which does not divide "
                f"{spec.bytes_per_partition} bytes"
            )

    def _masked_problem(
        self,
        operand: Operand,
        data: dict[str, Operand],
        ranges: Sequence[range | None],
    ) -> str | None:
        """
        The first iteration in which the clipped access leaves its tensor.

        Beyond a bounded number of iterations the plan's check decides, which sees
        each iteration anyway.
        """
        known = [r for r in ranges if r is not None]
        if len(known) != len(ranges):
            return None
        if prod(len(r) for r in known) > _ENUMERATED_ITERATIONS:
            return None
        lanes = self.lane_dims(data)[operand.name]
        shape = self.lane_shape(data)
        for indices in product(*known):
            box = clip(self.masks(), shape, indices)
            if box is None:
                continue
            for part in boxes(box):
                problem = self._problem_in(part, operand, lanes, indices)
                if problem:
                    return problem
        return None

    def _problem_in(
        self,
        box: Box,
        operand: Operand,
        lanes: Sequence[int],
        indices: Sequence[int],
    ) -> str | None:
        """Why what a box leaves of an access leaves its tensor, in one iteration."""
        sub = [
            box.ranges[lane] if lane >= 0 else (0, extent)
            for lane, extent in zip(lanes, operand.shape, strict=True)
        ]
        indexed = self.indexed_dim(operand.name)
        if indexed is not None:
            # An index takes the place of the position: the offset does not move.
            low, high = sub[indexed]
            sub[indexed] = (0, high - low)
        access = operand.access.bound(indices).restricted(sub)
        clipped = Operand(operand.name, operand.value, operand.type, access)
        return out_of_bounds(self.reachable(clipped), ())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the text form."""
        from xdsl_neuron.dialects.instruction_text import parse_instruction

        return parse_instruction(cls, parser)

    def print(self, printer: Printer) -> None:
        """Writes the text form."""
        from xdsl_neuron.dialects.instruction_text import print_instruction

        print_instruction(self, printer)


def register_bits(value: SSAValue) -> int:
    """Bits of the register that a value is; a loop index has those of one register."""
    return getattr(value.owner, "result_bits", REGISTER_BITS)


def _read_only(value: SSAValue) -> str | None:
    """Why a tensor may not be written, None where it may."""
    owner = value.owner
    if isinstance(owner, Operation):
        properties = owner.properties
        if "contents" in properties:
            return "it is a constant"
        kind = properties.get("kind")
        if isinstance(kind, TensorKindAttr) and "mutable" not in properties:
            if kind.data is TensorKind.INPUT:
                return "it is an input that is not marked mutable"
        return None
    mutable = getattr(owner.parent_op(), "mutable_positions", None)
    if isinstance(value, BlockArgument) and mutable is not None:
        if value.index not in mutable:
            return "it is an argument that is not marked inout"
    return None


def index_range(value: SSAValue) -> range | None:
    """The values of a loop index, None where the loop's bounds are not static."""
    if not isinstance(value, BlockArgument):
        return None
    loop = value.block.parent_op()
    bounds = getattr(loop, "static_range", None)
    if not callable(bounds):
        return None
    found = bounds()
    return found if isinstance(found, range) else None


def target_of(operation: Operation) -> Arch | None:
    """The generation named by the nearest enclosing module, None where none is."""
    parent: Operation | None = operation
    while parent is not None:
        if isinstance(parent, ModuleOp):
            target = parent.attributes.get("neuron.target")
            if isinstance(target, TargetAttr):
                return get_arch(target.data)
        parent = parent.parent_op()
    return None
