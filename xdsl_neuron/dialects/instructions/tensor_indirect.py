"""
Tensor indirection (trn3): columns of an operand on chip picked by offsets in SBUF.

An operand `src` with an index is [partitions, n] for the instruction: its column i is
the element of the accessed columns at the i-th offset. Partitions take their offsets
together, 16 at a time (32 on the tensor engine), from as many rows of the index: the
i-th offset of a group is in its row i % 16, column i // 16. A destination is written at
the offsets, the last of equal ones stays.

    bir.tensor_copy %d <- %s, src_index = %i {engine = DVE, src_num_indices = 40}
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar, Final

from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import AttrSizedOperandSegments, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.capacity import Sized
from xdsl_neuron.dialects.effects import Effect, Writes
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, Space

DOCUMENTED: Final = "nki.md 0 NkiTensor.indirect"
"""The source of what the documents of 0.6 say of tensor indirection."""


def count_name(index: str) -> str:
    """The property that says how many offsets of an index count."""
    return f"{index.removesuffix('_index')}_num_indices"


class TensorIndirect(ComputeInstruction):
    """
    An instruction some operands of which may have an index, named `<operand>_index`.

    `<operand>_num_indices` says how many offsets count.
    """

    INDIRECT: ClassVar[dict[str, str]] = {"dst": "dst", "src": "src"}
    """The operands that may have an index, and whose index it is."""
    INDIRECT_ENGINES: ClassVar[tuple[Engine, ...]] = ()
    """The engines that pick columns; all of the class where it names none."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst_num_indices = opt_prop_def(IntegerAttr)

    @classmethod
    def index_names(cls) -> tuple[str, ...]:
        """The operands that are indices."""
        return tuple(f"{owner}_index" for owner in dict.fromkeys(cls.INDIRECT.values()))

    def effect(self, name: str) -> Effect:
        """A destination is written at the places that its index names only."""
        found = super().effect(name)
        if found.writes is not Writes.NOTHING and self._is_picked(name):
            return replace(found, reads=True, writes=Writes.PART)
        return found

    def joins_destination(self, name: str) -> bool:
        """Whether the elements that are picked to be written matter before."""
        return super().effect(name).reads

    def _is_picked(self, name: str) -> bool:
        return any(name == each for each, _ in self.indirect_operands())

    @property
    def group_partitions(self) -> int:
        """Partitions that share their offsets."""
        if Engine.PE in self.ENGINES:
            return Arch.pe_indirect_partitions
        return Arch.indirect_partitions

    @classmethod
    @cache
    def _pairs(cls) -> tuple[tuple[str, str], ...]:
        """Operands that may have an index, and the names of the indices."""
        return tuple((name, f"{owner}_index") for name, owner in cls.INDIRECT.items())

    @classmethod
    @cache
    def _counts(cls) -> frozenset[str]:
        return frozenset(count_name(name) for name in cls.index_names())

    @property
    def has_indices(self) -> bool:
        """Whether columns of an operand are picked."""
        return not self._counts().isdisjoint(self.properties)

    def indirect_operands(self) -> Sequence[tuple[str, str]]:
        """The operands that have an index, and the names of the indices."""
        return self._indirect_among(self.data()) if self.has_indices else ()

    def _indirect_among(self, data: dict[str, Operand]) -> Sequence[tuple[str, str]]:
        return [pair for pair in self._pairs() if pair[1] in data and pair[0] in data]

    def _num_indices(self, index: str) -> int | None:
        count = self.properties.get(count_name(index))
        return count.value.data if isinstance(count, IntegerAttr) else None

    def _read_data(self) -> dict[str, Operand]:
        found = super()._read_data()
        if self.has_indices:
            for name, index in self._indirect_among(found):
                found[name] = replace(found[name], picked=self._num_indices(index))
        return found

    @gate("Available on NeuronCore-v4 (Trn3) and later", DOCUMENTED, stage=Stage.ARCH)
    def tensor_indirect_arch(self) -> None:
        """From gen4."""
        arch = target_of(self)
        if arch is None or arch.has_tensor_indirection:
            return
        for name, _ in self.indirect_operands():
            raise VerifyException(
                f"tensor indirection of '{name}' is available on NeuronCore-v4 (Trn3) "
                f"and later, got {arch.name}; gather with local_gather"
            )

    @gate(
        "TensorIndirect Indices data type must be uint16",
        "bir.md 6.3; dma.md 2.3",
        stage=Stage.INDIRECT,
    )
    def indirect_indices(self) -> None:
        """16-bit offsets in SBUF, in the partitions of what they pick from."""
        data = self.data()
        for name in self.index_names():
            index, owner = data.get(name), name.removesuffix("_index")
            if (index is None) != (self._num_indices(name) is None):
                raise VerifyException(f"takes {name} and {count_name(name)} together")
            if index is None:
                continue
            if index.dtype is not DType.UINT16:
                raise VerifyException(
                    "TensorIndirect Indices data type must be uint16, got "
                    f"{index.dtype.nki_name} for '{index.name}'"
                )
            if index.space is not Space.SBUF:
                self.wrong_space(index, "sbuf")
            if data[owner].partitions != index.partitions:
                raise VerifyException(
                    f"number of partitions mismatch in parameters ({owner}: "
                    f"{data[owner].partitions}, {index.name}: {index.partitions})"
                )

    @gate("offset i comes from index[i % G, i // G]", DOCUMENTED, stage=Stage.INDIRECT)
    def indirect_count(self) -> None:
        """A group of partitions holds all the offsets, at least one."""
        data, group = self.data(), self.group_partitions
        for name, index_name in self.indirect_operands():
            count, index = self._num_indices(index_name), data[index_name]
            rows = index.partitions
            # The last group may have fewer rows, which are then one column's.
            short = rows % group
            held = short if short else group * index.free_count
            if count is None or 0 < count <= held:
                continue
            raise VerifyException(
                f"'{name}' has {count} indices, expected 1 to {held}: partitions share "
                f"their offsets {group} at a time, and {index} holds offset i of a "
                f"group in its row i % {group}, column i // {group}"
            )

    @gate(
        "index: free-dimension offsets", DOCUMENTED, "our choice", stage=Stage.INDIRECT
    )
    def indirect_columns(self) -> None:
        """Offsets count the elements of one run in each partition."""
        data = self.data()
        for name, _ in self.indirect_operands():
            pairs = data[name].access.pairs
            if len(pairs) != 2 or (pairs[1][0] != 1 and pairs[1][1] != 1):
                raise VerifyException(
                    f"'{name}' has an index, so its access is one run in each "
                    f"partition, got {list(pairs[1:])}; pick from a contiguous view"
                )

    @gate("the operation must run on the ... engine", DOCUMENTED, stage=Stage.ENGINE)
    def indirect_engine(self) -> None:
        """Not every engine of an instruction has the addressing mode."""
        allowed, engine = self.INDIRECT_ENGINES, self.engine.data
        if not allowed or engine in (*allowed, Engine.UNASSIGNED):
            return
        for name, _ in self.indirect_operands():
            raise VerifyException(
                f"'{self.name}' runs on engine {engine}, which picks no columns of "
                f"'{name}'; expected {', '.join(each.value for each in allowed)}"
            )

    @gate("base partitions of operands with an index", DOCUMENTED)
    def indirect_starts(self) -> None:
        """An index starts in a quadrant, where the operands that it serves start."""
        data = self.data()
        for name, index_name in self.indirect_operands():
            index = data[index_name]
            if name in self.OUTS:
                self._check_scatter_start(index)
                continue
            if name == index_name.removesuffix("_index"):
                _check_start(data[name], index)

    def _check_scatter_start(self, index: Operand) -> None:
        """The index of a destination starts where the source, or its index, does."""
        data = self.data()
        source = next(name for name in self.INDIRECT if name not in self.OUTS)
        beside = data[source]
        if beside.space is Space.PSUM:
            found = data.get(f"{self.INDIRECT[source]}_index")
            if found is None:
                return
            beside = found
        _check_start(beside, index)

    @gate("index starts on a quadrant boundary (a multiple of 32)", DOCUMENTED)
    def indirect_quadrant(self) -> None:
        """Groups of partitions are those of the hardware."""
        data = self.data()
        for _, index_name in self.indirect_operands():
            start = _first_partition(data[index_name])
            if start is not None and start % Arch.quadrant_partitions:
                raise VerifyException(
                    f"'{index_name}' starts at partition {start}, expected a multiple "
                    f"of {Arch.quadrant_partitions}"
                )

    @gate("on the Scalar engine a scattered dst cannot be in PSUM", DOCUMENTED)
    def scatter_into_psum(self) -> None:
        """The scalar engine scatters into SBUF only."""
        if self._engine_is_scalar() and "dst_index" in self.data_values():
            dst = self.data()["dst"]
            if dst.space is Space.PSUM:
                raise VerifyException(
                    f"on the Scalar engine a scattered dst cannot be in PSUM, got {dst}"
                    "; scatter into SBUF, or use the vector engine"
                )

    def _engine_is_scalar(self) -> bool:
        engine = self.engine.data
        if engine is Engine.UNASSIGNED:
            return (self.INDIRECT_ENGINES or self.ENGINES) == (Engine.ACTIVATION,)
        return engine is Engine.ACTIVATION

    @gate("an operand with an index takes no mask", DOCUMENTED, "our choice")
    def indirect_without_mask(self) -> None:
        """Generations that have masks have no tensor indirection."""
        if not self.masks():
            return
        for name, _ in self.indirect_operands():
            raise VerifyException(
                f"'{self.name}' takes no mask, as columns of '{name}' are picked; "
                "give it smaller accesses"
            )

    @gate("in place: columns are picked in any order", DOCUMENTED, "our choice")
    def indirect_in_place(self) -> None:
        """What is picked from, or by, is not written."""
        data = self.data()
        indirect = dict(self.indirect_operands())
        if not indirect:
            return
        for out in self.OUTS:
            if out not in data:
                continue
            for name in self.INS:
                if name not in data or not (
                    out in indirect or name in indirect or name in indirect.values()
                ):
                    continue
                if data[name].value is data[out].value:
                    self._check_apart(data[out], data[name])

    def _check_apart(self, dst: Operand, src: Operand) -> None:
        if any(a.overlaps(b) for a, b in self.bytes_beside(dst, src)):
            raise VerifyException(
                f"'{self.name}' writes '{dst.name}' where it reads '{src.name}' of "
                f"`{dst.label}`, and picks columns; write to another tile"
            )


def _check_start(operand: Operand, index: Operand) -> None:
    """Both start at one partition; what allocation places can follow the other."""
    if (_base(operand) is None) != (_base(index) is None):
        return
    first, start = _first_partition(operand), _first_partition(index)
    if first is not None and start is not None and first != start:
        raise VerifyException(
            f"'{operand.name}' starts at partition {first} and '{index.name}' at "
            f"{start}; both start at the same partition"
        )


def _first_partition(operand: Operand) -> int | None:
    """Where an operand starts on chip; in its tensor, where that has no address."""
    start = operand.access.partition
    if start is None or not start.is_constant:
        return None
    return start.constant + (_base(operand) or 0)


def _base(operand: Operand) -> int | None:
    """The first partition of its tensor, where that has one address."""
    owner = operand.value.owner
    placements = owner.placements if isinstance(owner, Sized) else []
    return placements[0][0] if len(placements) == 1 else None
