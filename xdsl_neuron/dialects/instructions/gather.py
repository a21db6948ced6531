"""Gathers and shuffles made by an engine, and scalar registers."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, i64
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.masks import BoxMasked, Unmasked
from xdsl_neuron.dialects.instructions.registers import INTEGERS
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, Space

SHUFFLE_LANES = 32
KEEP_LANE = 255
CORE_PARTITIONS = 16
INDICES_PER_CORE_MAX = 4096
GATHER_RANKS = (2, 4)
ELEMENTS_PER_INDEX = (1, 2, 4, 8, 16, 32)


class StreamShuffle(Unmasked):
    """
    Permutes partitions inside every aligned block of 32.

    `dst[b + i] = src[b + mask[i]]`; 255 leaves a destination partition as it is. The
    sides may have fewer partitions than their last block.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    mask = prop_def(DenseArrayBase.constr(i64))

    def kept_outputs(self) -> tuple[str, ...]:
        """A lane may be kept."""
        return self.OUTS if KEEP_LANE in self.mask.get_values() else ()

    @gate("StreamShuffle does not support cast", "bir.md 6.9")
    def same_dtype(self) -> None:
        """A shuffle moves bits."""
        data = self.data()
        src, dst = data["src"].dtype, data["dst"].dtype
        if src is not dst:
            raise VerifyException(
                "StreamShuffle does not support cast, got "
                f"{src.nki_name} to {dst.nki_name}"
            )

    @gate(
        "StreamShuffle Mask must have 32 elements | StreamShuffle Mask entry must be "
        "<32",
        "bir.md 6.9",
    )
    def shuffle_mask(self) -> None:
        """32 lanes, or 255 to keep one."""
        mask = self.mask.get_values()
        if len(mask) != SHUFFLE_LANES:
            raise VerifyException(
                f"StreamShuffle Mask must have 32 elements, got {len(mask)}"
            )
        for entry in mask:
            if not 0 <= entry < SHUFFLE_LANES and entry != KEEP_LANE:
                raise VerifyException(
                    f"StreamShuffle Mask entry must be <32, got {entry} (255 keeps)"
                )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_elements(self) -> None:
        """As many elements per partition on both sides."""
        data = self.data()
        dst, src = data["dst"], data["src"]
        if src.free_count != dst.free_count:
            raise VerifyException(
                f"tile shape mismatch, expected '{list(dst.shape)}' of 'dst', got "
                f"{list(src.shape)} for 'src'"
            )

    @gate("StreamShuffle reads a partition that is not there", "nki.md 1.1", "inferred")
    def lanes_there(self) -> None:
        """Every partition that is written comes from one of `src`."""
        data = self.data()
        mask = self.mask.get_values()
        have = data["src"].partitions
        for partition in range(data["dst"].partitions):
            lane = partition % SHUFFLE_LANES
            source = partition - lane + mask[lane]
            if mask[lane] != KEEP_LANE and source >= have:
                raise VerifyException(
                    f"StreamShuffle takes partition {partition} of 'dst' from "
                    f"{source} of 'src', which has {have} ({data['src']}); use 255 to "
                    "keep a partition"
                )

    @gate(
        "in-place: same start, dtype and element count must be the same pattern; "
        "accesses are equal or disjoint",
        "bir.md 7.7; nki.md 1.1",
    )
    def in_place(self) -> None:
        """A block is read before it is written: both sides may start at one place."""
        data = self.data()
        dst, src = data["dst"], data["src"]
        starts = [(o.value, o.access.partition, o.access.offset) for o in (dst, src)]
        frees = [
            (o.dtype, o.access.pairs[0][0], o.access.pairs[1:]) for o in (dst, src)
        ]
        if starts[0] != starts[1] or frees[0] != frees[1]:
            super().in_place()

    @gate(
        "StreamShuffle start partition for 32, 64, 96 or 128 active partitions",
        "nki.md 1.1",
    )
    def shuffle_starts(self) -> None:
        """Both sides start where the larger one, in whole blocks, may start."""
        arch = target_of(self)
        if arch is None:
            return
        data = self.data()
        larger = max(operand.partitions for operand in data.values())
        active = -(-larger // SHUFFLE_LANES) * SHUFFLE_LANES
        for name, operand in data.items():
            if operand.access.partition is None:
                continue
            for value in self.values_of(operand.access.partition):
                problem = arch.partition_start_error(value, active)
                if problem:
                    raise VerifyException(f"access to '{name}' ({operand}): {problem}")


class IndirectCopy(Unmasked):
    """
    `local_gather`: each GpSIMD core gathers within its 16 partitions.

    A core's indices run along its partitions first. An index is the offset, in
    elements, of `num_elem_per_idx` elements of every partition of the core.
    """

    ENGINES: ClassVar = (Engine.POOL,)
    IN_PLACE: ClassVar = False
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "index")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)
    num_elem_per_idx = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    num_valid_indices = prop_def(IntegerAttr)

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """No operand follows another's free dimension."""
        return {name: (-1,) * len(o.shape) for name, o in data.items()}

    @gate(
        "src_buffer and index must have same partition dimension size",
        "penguin.md 6.1",
    )
    def same_partitions(self) -> None:
        """One index column per data partition, in whole cores."""
        data = self.data()
        src, index = data["src"].partitions, data["index"].partitions
        if src != index or data["dst"].partitions != src:
            raise VerifyException(
                "src_buffer and index must have same partition dimension size, got "
                f"{src} and {index} (dst {data['dst'].partitions})"
            )
        if src % CORE_PARTITIONS:
            raise VerifyException(
                f"partition dimension size must be a multiple of 16, got {src}"
            )

    @gate(
        "num_elem_per_idx must be one of [1, 2, 4, 8, 16, 32]",
        "penguin.md 6.1",
    )
    def run_length(self) -> None:
        """The runs a core copies."""
        run = self.num_elem_per_idx.value.data
        if run not in ELEMENTS_PER_INDEX:
            raise VerifyException(
                f"num_elem_per_idx must be one of [1, 2, 4, 8, 16, 32], got {run}"
            )

    @gate(
        "num_valid_indices cannot exceed total indices per core | number of indices "
        "per core must be <= 4096",
        "penguin.md 6.1",
    )
    def index_count(self) -> None:
        """A core has 16 partitions' worth of indices, at most 4096."""
        data = self.data()
        total = data["index"].free_count * CORE_PARTITIONS
        valid = self.num_valid_indices.value.data
        if valid > total or valid <= 0:
            raise VerifyException(
                "num_valid_indices cannot exceed total indices per core, got "
                f"{valid} of {total}"
            )
        if total > INDICES_PER_CORE_MAX:
            raise VerifyException(
                f"number of indices per core must be <= 4096, got {total}"
            )
        needed = valid * self.num_elem_per_idx.value.data
        if data["dst"].free_count != needed:
            raise VerifyException(
                f"tile shape mismatch, expected '[{data['src'].partitions}, {needed}]' "
                f"for 'dst', got {list(data['dst'].shape)}"
            )

    @gate("TensorIndirect Indices data type must be uint16", "bir.md 6.3")
    def gather_dtypes(self) -> None:
        """16-bit indices; the data is not cast; all in SBUF."""
        data = self.data()
        if data["index"].dtype is not DType.UINT16:
            raise VerifyException(
                "TensorIndirect Indices data type must be uint16, got "
                f"{data['index'].dtype.nki_name}"
            )
        check_gather(self, data)


def check_gather(instruction: ComputeInstruction, data: dict[str, Operand]) -> None:
    """GpSIMD gathers SBUF without casting."""
    for operand in data.values():
        if operand.space is not Space.SBUF:
            instruction.wrong_space(operand, "sbuf")
    src, dst = data["src"].dtype, data["dst"].dtype
    if src is not dst:
        raise VerifyException(
            f"{instruction.name} src and dst must have same data type but got "
            f"{src.nki_name} and {dst.nki_name}"
        )


class Gather(BoxMasked):
    """`gather_flattened`: `dst[p, i] = src[p, index[p, i]]` on GpSIMD."""

    ENGINES: ClassVar = (Engine.POOL,)
    IN_PLACE: ClassVar = False
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "index")
    WHOLE: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """Output and index run together; the data is reached as a whole."""
        found = super().lane_dims(data)
        rank = len(data["src"].shape)
        found["src"] = (0, *(-1,) * (rank - 1))
        return found

    @gate("indices uint32", "penguin.md 6.1")
    def index_dtype(self) -> None:
        """32-bit unsigned indices."""
        data = self.data()
        if data["index"].dtype is not DType.UINT32:
            raise VerifyException(
                f"Unsupported dtype '{data['index'].dtype.nki_name}' of 'index', "
                "expected one of the following dtypes: uint32"
            )
        check_gather(self, data)

    @gate("dim bounds", "penguin.md 6.1; nki.md 1.1 nc_n_gather")
    def gather_shapes(self) -> None:
        """
        The output has the indices' elements, all operands the same partitions.

        Data and indices have two to four dimensions.
        """
        for name in ("src", "index"):
            rank = len(self.data()[name].shape)
            if not GATHER_RANKS[0] <= rank <= GATHER_RANKS[1]:
                raise VerifyException(
                    f"'{name}' has {rank} dimensions, exceed max supported number of "
                    f"dimension: a gather takes {GATHER_RANKS[0]} to {GATHER_RANKS[1]}"
                )
        self.check_elementwise("index")
        data = self.data()
        if data["src"].partitions != data["dst"].partitions:
            raise VerifyException(
                "number of partitions mismatch in parameters (dst: "
                f"{data['dst'].partitions}, src: {data['src'].partitions})"
            )


class TensorLoad(Instruction):
    """
    Loads one integer into a register: an `index` that offsets may use.

    One of 64 bits goes into a pair of registers (dma.md 10.7).

        %r = penguin.load_tensor_to_register %t[0, 0][1 x 1]
    """

    INS: ClassVar = ("src",)
    RESULTS: ClassVar = (IndexType(),)

    src = operand_def(TensorType)
    result = result_def(IndexType)

    @property
    def result_bits(self) -> int:
        """Bits of the register, or pair, that is loaded."""
        return self.data()["src"].dtype.bytes * 8

    @gate(
        "InstTensorLoad/InstTensorSave register and tensor must have the same number "
        "of bytes. Got src={src_type} dst={dst_type}",
        "dma.md 9.4 EBIR011",
    )
    def one_element(self) -> None:
        """Exactly one integer of 32 or 64 bits in HBM or SBUF."""
        src = self.data()["src"]
        if src.access.count != 1:
            raise VerifyException(
                f"a register holds one element, got {src.access.count} ({src})"
            )
        if src.dtype not in INTEGERS:
            raise VerifyException(
                "InstTensorLoad/InstTensorSave register and tensor must have the same "
                f"number of bytes. Got src={src.dtype.bir_name} dst=int32"
            )
        if src.space is Space.PSUM:
            raise VerifyException(
                "InstTensorLoad/InstTensorSave cannot read psum; copy to sbuf first"
            )
