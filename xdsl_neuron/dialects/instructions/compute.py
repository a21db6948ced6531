"""The base of instructions that run on a compute engine, and the rules they share."""

from typing import ClassVar

from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import (
    MAX_DIMS,
    Instruction,
    Operand,
    target_of,
)
from xdsl_neuron.dialects.neuron import EngineAttr
from xdsl_neuron.dialects.neuron.attributes import render_access
from xdsl_neuron.isa import Engine, Space


class ComputeInstruction(Instruction):
    """
    An instruction of the tensor, vector, scalar or GpSIMD engine.

    `ENGINES` are the engines that can run it; `Unassigned` leaves the choice to the
    compiler.
    """

    ENGINES: ClassVar[tuple[Engine, ...]] = (Engine.DVE,)
    IN_PLACE: ClassVar[bool] = True
    """Whether an operand may be the very pattern that is written."""
    OWN_STARTS: ClassVar[tuple[str, ...]] = ()
    """Operands whose first partition has a rule of its own."""

    BROADCASTS: ClassVar[tuple[str, ...]] = ()
    """Operands that may repeat one partition, which a lowering copies."""

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.UNASSIGNED))

    @gate('predicate "validEngines"', "bir.md 7.2 code 400", stage=Stage.ENGINE)
    def engine_set(self) -> None:
        """The engine is one that can run the instruction."""
        engine = self.engine.data
        if engine is not Engine.UNASSIGNED and engine not in self.ENGINES:
            raise VerifyException(
                f"runs on engine {engine}, expected one of "
                f"{', '.join(allowed.value for allowed in self.ENGINES)} or Unassigned"
            )

    @gate(
        "Expected operand '...' of '...' to be in address space '...', "
        "but got a ... instead.",
        "penguin.md 5",
        stage=Stage.MEMORY,
    )
    def operands_on_chip(self) -> None:
        """Compute engines reach SBUF and PSUM only."""
        for operand in self.data().values():
            if not operand.space.on_chip:
                self.wrong_space(operand, "sbuf or psum")

    def wrong_space(self, operand: Operand, expected: str) -> None:
        """Raises the address-space error for `operand`."""
        raise VerifyException(
            f"Expected operand '{operand.name}' of '{self.name}' to be in address "
            f"space '{expected}', but got a {operand.space} instead."
        )

    @gate("Pool cannot read or write PSUM", "nki.md 4.2")
    def pool_without_psum(self) -> None:
        """GpSIMD has no port to PSUM."""
        if self.engine.data is not Engine.POOL:
            return
        for operand in self.data().values():
            if operand.space is Space.PSUM:
                raise VerifyException(
                    f"Pool cannot read or write PSUM, but '{operand.name}' is "
                    f"{operand}; use the vector engine or copy to SBUF first"
                )

    @gate("... exceed max supported number of dimension ...", "nki.md 4.2")
    def rank_limit(self) -> None:
        """A partition and at most four free dimensions, after fusing."""
        for operand in self.data().values():
            free = operand.access.pairs[1:]
            if len(free) < MAX_DIMS:
                continue
            dims = fused_rank(free)
            if dims > MAX_DIMS - 1:
                raise VerifyException(
                    f"access to '{operand.name}' has {dims} free dimensions, exceed "
                    f"max supported number of dimension {MAX_DIMS - 1}"
                )

    @gate("Access pattern starts at partition ...", "nki.md 4.2")
    def partition_start(self) -> None:
        """An access starts on a partition its width allows."""
        arch = target_of(self)
        if arch is None:
            return
        for name, operand in self.data().items():
            start = operand.access.partition
            if start is None or name in self.OWN_STARTS:
                continue
            # A broadcast (step 0) reads one partition however often.
            step, partitions = operand.access.pairs[0]
            count = partitions if step else 1
            for value in self.values_of(start):
                problem = arch.partition_start_error(value, count)
                if problem:
                    raise VerifyException(
                        f"access to '{operand.name}' ({operand}): {problem}"
                    )

    @gate(
        "the access on the partition dimension must be contiguous",
        "NKI Access Patterns of NKI 0.2 to 0.7",
    )
    def partition_step(self) -> None:
        """Engines read and write partitions one after another; DMA has no such rule."""
        for name, operand in self.data().items():
            step, count = operand.access.pairs[0]
            if step == 1 or count == 1 or (step == 0 and name in self.BROADCASTS):
                continue
            what = f"steps by {step} partitions" if step else "repeats one partition"
            raise VerifyException(
                f"the access on the partition dimension must be contiguous, but "
                f"'{name}' ({operand}) {what}; gather the partitions into a tile with "
                "dma_copy first"
            )

    @gate(
        "in-place: same start, dtype and element count must be the same pattern; "
        "accesses are equal or disjoint",
        "bir.md 7.7",
    )
    def in_place(self) -> None:
        """
        What is read in step with a write to SBUF is the same pattern, or apart from it.

        Operands with another number of elements are read ahead of the write (a scalar)
        or written behind it (a reduction), which is our reading of 7.7. Instructions
        that take elements out of order are never in place.
        """
        data = self.data()
        for out in self.OUTS:
            dst = data.get(out)
            for name in self.INS:
                src = data.get(name)
                if dst is None or src is None or src.value is not dst.value:
                    continue
                in_step = src.free_count == dst.free_count
                if not self.IN_PLACE or (in_step and dst.space is Space.SBUF):
                    self._check_in_place(dst, src)

    def _check_in_place(self, dst: Operand, src: Operand) -> None:
        if dst.access == src.access:
            if self.IN_PLACE:
                return
            raise VerifyException(
                f"'{self.name}' cannot write `{dst.label}` in place: '{src.name}' and "
                f"'{dst.name}' are the same access; write to another tile"
            )
        for written, read in self.bytes_beside(dst, src):
            if self.IN_PLACE and dst.dtype is src.dtype and written == read:
                continue
            if written.overlaps(read):
                raise VerifyException(
                    f"'{self.name}' reads '{src.name}' {render_access(src.access)} of "
                    f"`{dst.label}` while it writes {render_access(dst.access)}: "
                    "in-place accesses are the same pattern or disjoint; write to "
                    "another tile"
                )

    def check_elementwise(self, *names: str) -> None:
        """Same partitions and elements per partition, or one broadcast element."""
        data = self.data()
        first = data[self.OUTS[0]]
        for name in names:
            operand = data.get(name)
            if operand is None:
                continue
            if operand.partitions != first.partitions:
                raise VerifyException(
                    f"number of partitions mismatch in parameters ({first.name}: "
                    f"{first.partitions}, {name}: {operand.partitions})"
                )
            if operand.free_count != first.free_count:
                raise VerifyException(
                    f"tile shape mismatch, expected '{list(first.shape)}' of "
                    f"'{first.name}', got {list(operand.shape)} for '{name}'"
                )

    def check_per_partition_scalar(self, *names: str) -> None:
        """Operands that hold one element per partition of the first output."""
        data = self.data()
        first = data[self.OUTS[0]]
        for name in names:
            operand = data.get(name)
            if operand is None:
                continue
            if operand.free_count != 1 or operand.partitions != first.partitions:
                raise VerifyException(
                    f"'{name}' must hold one element for each of "
                    f"{first.partitions} partitions, got {operand}"
                )


def fused_rank(pairs: tuple[tuple[int, int], ...]) -> int:
    """Dimensions left when unit dims are dropped and contiguous ones fused."""
    rank = 0
    inner: tuple[int, int] | None = None
    for step, num in reversed(pairs):
        if num == 1:
            continue
        if inner is not None and step == inner[0] * inner[1]:
            inner = (inner[0], inner[1] * num)
            continue
        inner = (step, num)
        rank += 1
    return rank
