"""Instructions of the DMA engines: copies between HBM and SBUF, direct and indirect."""

from dataclasses import replace
from typing import ClassVar

from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.effects import Effect, Writes
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import MAX_DIMS, Instruction
from xdsl_neuron.dialects.instructions.compute import fused_rank
from xdsl_neuron.dialects.instructions.descriptor_generators import (
    DYNAMIC_NEEDS_DGE,
    HARDWARE_DGE_ENGINE,
    check_dynamic_needs_dge,
    check_hardware_dge_engine,
)
from xdsl_neuron.dialects.neuron import (
    AluOpAttr,
    DgeTypeAttr,
    EngineAttr,
    OobModeAttr,
    QosClassAttr,
    TensorType,
)
from xdsl_neuron.dialects.neuron.attributes import render_access
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, DgeType, Engine, OobMode, QosClass, Space

INDEX_DTYPES = (DType.UINT32, DType.INT32)
TENSOR_BYTES_MAX = 1 << 32
STEP_BYTES_MAX = 1 << 31


class DmaInstruction(Instruction):
    """An instruction of the DMA engines, with its quality-of-service request."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    MOVED: ClassVar[tuple[str, ...]] = ("dst", "src")
    """Operands whose elements are moved: where to, and where from."""

    dma_qos = prop_def(QosClassAttr, default_value=QosClassAttr(QosClass.UNASSIGNED))

    def moved(self) -> list[Operand]:
        """The present ones of `MOVED`, the destination first."""
        data = self.data()
        return [data[name] for name in self.MOVED if name in data]

    @gate(
        "Expected operand '...' of '...' to be in address space '...', "
        "but got a ... instead.",
        "penguin.md 5; nki.md 4.2",
        stage=Stage.MEMORY,
    )
    def dma_spaces(self) -> None:
        """The DMA engines reach HBM and SBUF."""
        for operand in self.moved():
            self._check_space(operand, (Space.HBM, Space.SBUF))

    def _check_space(self, operand: Operand, allowed: tuple[Space, ...]) -> None:
        if operand.space not in allowed:
            raise VerifyException(
                f"Expected operand '{operand.name}' of '{self.name}' to be in address "
                f"space '{' or '.join(allowed)}', but got a {operand.space} instead."
                + (" Copy it to SBUF first" if operand.space is Space.PSUM else "")
            )

    @gate("DMA instruction must read and write same number of elements", "dma.md 9.8")
    def equal_counts(self) -> None:
        """Both sides have the same number of elements."""
        dst, *sources = self.moved()
        for src in sources:
            if dst.access.count != src.access.count:
                raise VerifyException(
                    "DMA instruction must read and write same number of elements, got "
                    f"{dst.access.count} ({dst}) and {src.access.count} ({src})"
                )

    @gate(
        "Invalid number of AccessPattern dimensions; must be in [2, 5]",
        "dma.md 9.4 BIR049",
    )
    def dma_dimensions(self) -> None:
        """
        At most five dimensions a side, unit ones dropped and contiguous ones fused.

        Fewer than two are padded. There is no condition on the innermost step: runs of
        one element are legal (dma.md 13.2).
        """
        for operand in self.moved():
            first, free = operand.access.pairs[:1], operand.access.pairs[1:]
            if len(free) < MAX_DIMS:
                continue
            rank = len(first) + fused_rank(free)
            if not operand.space.on_chip:
                rank = min(rank, fused_rank((*first, *free)))
            if rank > MAX_DIMS:
                raise VerifyException(
                    "Invalid number of AccessPattern dimensions; must be in [2, 5], "
                    f"got {rank} for '{operand.name}' ({operand}); use several copies"
                )

    @gate("access pattern steps fit 32 bits", "dma.md 2.2, 13.2", "inferred")
    def dma_steps(self) -> None:
        """A step in bytes is a signed 32-bit number."""
        for operand in self.moved():
            size = operand.dtype.bytes
            for step, num in operand.access.pairs:
                if num > 1 and abs(step * size) >= STEP_BYTES_MAX:
                    raise VerifyException(
                        f"access pattern of '{operand.name}' steps by {step * size} "
                        f"bytes, which does not fit 32 bits ({operand})"
                    )

    @gate("Tensor size must be < 4GB, but it is {actual} bytes", "dma.md 9.4 BIR156")
    def tensor_size(self) -> None:
        """A descriptor addresses tensors below 4 GiB."""
        for operand in self.data().values():
            spec = operand.type.data
            size = spec.size * spec.dtype.bytes
            if size >= TENSOR_BYTES_MAX:
                raise VerifyException(
                    f"Tensor size must be < 4GB, but it is {size} bytes "
                    f"({operand.label})"
                )

    @gate("packed dtypes may be moved but not cast", "nki.md 5.1")
    def packed_not_cast(self) -> None:
        """A packed container goes to the same type only."""
        dst, *sources = [operand.dtype for operand in self.moved()]
        for src in sources:
            if dst is not src and (dst.is_packed or src.is_packed):
                raise VerifyException(
                    f"DMA may move but not cast packed types, got {src.nki_name} to "
                    f"{dst.nki_name}"
                )

    @gate("source and destination overlap partly", "design.md 7b", "our choice")
    def no_partial_overlap(self) -> None:
        """Both sides on one tensor are the same pattern or apart."""
        dst, *sources = self.moved()
        for src in sources:
            if dst.value is not src.value:
                continue
            for written, read in self.bytes_beside(dst, src):
                if written != read and written.overlaps(read):
                    raise VerifyException(
                        f"source and destination overlap partly in {dst.label}: "
                        f"{render_access(src.access)} and {render_access(dst.access)}; "
                        "copy through a temporary"
                    )


class Load(DmaInstruction):
    """Copies from HBM into SBUF, cast through fp32 where the types differ."""

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate(
        "Expected SB <-> DRAM or PSUM <-> SB, but got {src} -> {dst}",
        "dma.md 9.4 MLO001",
    )
    def load_direction(self) -> None:
        """From HBM to SBUF."""
        data = self.data()
        dst, src = data["dst"].space, data["src"].space
        if (src, dst) != (Space.HBM, Space.SBUF):
            raise VerifyException(
                f"Expected SB <-> DRAM or PSUM <-> SB, but got {src} -> {dst}; a load "
                "goes from hbm to sbuf"
            )


class Save(DmaInstruction):
    """Copies from SBUF into HBM, cast through fp32 where the types differ."""

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    rmw_op = opt_prop_def(AluOpAttr)

    def effect(self, name: str) -> Effect:
        """What is added to is read before."""
        return combined(super().effect(name), self.rmw_op)

    @gate(
        "Expected SB <-> DRAM or PSUM <-> SB, but got {src} -> {dst}",
        "dma.md 9.4 MLO001",
    )
    def save_direction(self) -> None:
        """From SBUF to HBM."""
        data = self.data()
        dst, src = data["dst"].space, data["src"].space
        if (src, dst) != (Space.SBUF, Space.HBM):
            raise VerifyException(
                f"Expected SB <-> DRAM or PSUM <-> SB, but got {src} -> {dst}; a store "
                "goes from sbuf to hbm"
            )

    @gate(
        "atomic_rmw `op` param only supports 'add' operation currently. "
        "An unsupported op=...",
        "penguin.md 5",
    )
    def store_reduce_op(self) -> None:
        """Only add accumulates in memory."""
        op = self.rmw_op
        if op is not None and op.data not in (AluOp.ADD, AluOp.BYPASS):
            raise VerifyException(
                "atomic_rmw `op` param only supports 'add' operation currently. An "
                f"unsupported op={op.data}; use add, or no rmw_op to overwrite"
            )


def combined(found: Effect, op: AluOpAttr | None) -> Effect:
    """The effect on a destination, which an operation combines with what it held."""
    if found.writes is Writes.NOTHING or op is None or op.data is AluOp.BYPASS:
        return found
    return replace(found, reads=True)


def check_add_only(op: AluOpAttr | None) -> None:
    """A read-modify-write adds."""
    if op is not None and op.data not in (AluOp.ADD, AluOp.BYPASS):
        raise VerifyException(
            "scatter op can only support bypass or add for now, got "
            f"{op.data}; use add, or no rmw_op to overwrite"
        )


class Copy(DmaInstruction):
    """Copies between any of HBM and SBUF."""

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    dge = prop_def(DgeTypeAttr, default_value=DgeTypeAttr(DgeType.UNASSIGNED))
    rmw_op = opt_prop_def(AluOpAttr)
    oob = prop_def(OobModeAttr, default_value=OobModeAttr(OobMode.ERROR))

    def effect(self, name: str) -> Effect:
        """What is added to is read before."""
        return combined(super().effect(name), self.rmw_op)

    @gate(
        "oob_mode.skip is not supported for direct memory access. Only oob_mode.error "
        "is allowed (got ...)",
        "penguin.md 6.1",
    )
    def direct_bounds(self) -> None:
        """A direct access that no register moves has nothing to be out of bounds."""
        dynamic = any(operand.access.positions for operand in self.data().values())
        if self.oob.data is OobMode.SKIP and not dynamic:
            raise VerifyException(
                "oob_mode.skip is not supported for direct memory access. Only "
                "oob_mode.error is allowed (got oob_mode.skip)"
            )

    @gate("scatter op can only support bypass or add for now", "penguin.md 6.1")
    def copy_reduce_op(self) -> None:
        """Only add accumulates in memory."""
        check_add_only(self.rmw_op)

    @gate(DYNAMIC_NEEDS_DGE, "dma.md 9.3")
    def dynamic_needs_dge(self) -> None:
        """A register moves no access of descriptors that are made beforehand."""
        check_dynamic_needs_dge(self, self.dge.data)

    @gate("hwdge refuses casts", "nki.md 4.4")
    def hardware_dge_cast(self) -> None:
        """The hardware descriptor generator cannot cast."""
        data = self.data()
        dst, src = data["dst"].dtype, data["src"].dtype
        if self.dge.data is DgeType.HWDGE and dst is not src:
            raise VerifyException(
                f"HWDGE DMA needs equal dtypes, got {src.nki_name} to {dst.nki_name}; "
                "leave dge_mode open or use swdge"
            )


class Replicate(DmaInstruction):
    """Copies all rows of `src` to `dst` again and again, cast where types differ."""

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate(
        "mode Replicate: 2-D in/out APs; replicate count = dst partitions / src "
        "partitions",
        "bir.md 6.1",
    )
    def equal_counts(self) -> None:
        """Rows of the same length, a whole number of times as many in `dst`."""
        data = self.data()
        dst, src = data["dst"].shape, data["src"].shape
        if len(dst) != 2 or len(src) != 2:
            raise VerifyException(
                f"replicates 2-D accesses, got {list(src)} and {list(dst)}"
            )
        if dst[1] != src[1] or dst[0] % src[0]:
            raise VerifyException(
                f"replicates {list(src)} a whole number of times, which does not give "
                f"{list(dst)}"
            )

    @gate("... takes no mask", "design.md 7b", "our choice")
    def without_mask(self) -> None:
        """No predicates."""
        if self.masks():
            raise VerifyException(
                f"'{self.name}' takes no mask; give it smaller accesses"
            )


BOTH_INDIRECT = "``src`` and ``dst`` operands cannot both be indirect memory accesses"
RMW_OF_INDIRECT = (
    "``dst_rmw_op`` is not supported indirect memory access on source (``src``) operand"
)


class OpenCopy(Copy):
    """
    A copy as a kernel asks for it, before an index decides which instruction it is.

    With an index on one side it is a gather or a scatter, which are instructions of
    their own; with one on both it is none. So every index is refused here, with what
    to write instead.

        penguin.dma_copy %dst <- %src, src_index = %i, dst_index = %j
    """

    INS: ClassVar = ("src", "src_index", "dst_index")

    # Operands are in the order of the class that declares them.
    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.UNASSIGNED))
    """Which engine triggers the DMA; open unless the kernel says."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @gate("InstDMA cannot be on PE engine", "dma.md 9.4", stage=Stage.ENGINE)
    def copy_trigger_engine(self) -> None:
        """The tensor engine triggers no DMA."""
        if self.engine.data is Engine.PE:
            raise VerifyException("InstDMA cannot be on PE engine")

    @gate(HARDWARE_DGE_ENGINE, "dma.md 9.4 EDGE001, code 1698", stage=Stage.ENGINE)
    def copy_hardware_dge_engine(self) -> None:
        """Two engines have the hardware descriptor generators."""
        check_hardware_dge_engine(self.dge.data, self.engine.data)

    @gate(
        "dma_copy engine can only be specified when HWDGE mode is used.",
        "bir.md 11",
    )
    def engine_of_hardware_dge(self) -> None:
        """Only a DMA whose descriptors hardware makes is triggered by an engine."""
        if self.engine.data is not Engine.UNASSIGNED and (
            self.dge.data is not DgeType.HWDGE
        ):
            raise VerifyException(
                "dma_copy engine can only be specified when HWDGE mode is used, got "
                f"engine {self.engine.data} and dge {self.dge.data}"
            )

    def check_gates(self) -> None:
        """The fork comes first: rules of a direct copy mean nothing to an index."""
        self._check_structure()
        if self.segments()[1] > len((*self.OUTS, "src")):
            self.one_indirect_side()
            self.direct_source_of_rmw()
            self.forked()
        super().check_gates()

    @gate(BOTH_INDIRECT, "penguin.md 6.1")
    def one_indirect_side(self) -> None:
        """An index picks rows on one side at most."""
        values = self.data_values()
        if "src_index" in values and "dst_index" in values:
            data = self.data()
            raise VerifyException(
                f"{BOTH_INDIRECT}, got `{data['src_index'].label}` for "
                f"`{data['src'].label}` and `{data['dst_index'].label}` for "
                f"`{data['dst'].label}`; gather into a tile, then scatter it"
            )

    @gate(RMW_OF_INDIRECT, "penguin.md 6.1")
    def direct_source_of_rmw(self) -> None:
        """What is added to memory is not gathered by the same DMA."""
        op = self.rmw_op
        if op is None or op.data is AluOp.BYPASS:
            return
        if "src_index" in self.data_values():
            raise VerifyException(
                f"{RMW_OF_INDIRECT} `{self.data()['src'].label}`; gather into a tile, "
                "then add it"
            )

    @gate("an indexed copy is a gather or a scatter", "penguin.md 6.1", "our choice")
    def forked(self) -> None:
        """One index makes it another instruction."""
        values = self.data_values()
        if "src_index" in values:
            name, use = "src_index", "penguin.neuron_indirect_load"
        elif "dst_index" in values:
            name = "dst_index"
            rmw = self.rmw_op is not None and self.rmw_op.data is not AluOp.BYPASS
            use = f"penguin.neuron_indirect_{'rmw' if rmw else 'save'}"
        else:
            return
        raise VerifyException(
            f"a copy with '{name}' alone is written as {use}, which has the index as "
            "its last operand and a max_index"
        )
