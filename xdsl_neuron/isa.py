"""
Enumerations of the instruction set: the field's spellings and their numbers.

Pure data, shared by the dialects, the numerics and the machine. A member's value is
its spelling in IR and JSON, `number` its ordinal in the vendor's tables
(`bir::…` enums unless a docstring says otherwise).
"""

from typing import Self

from xdsl.utils.str_enum import StrEnum


class NumberedEnum(StrEnum):
    """A string enumeration whose members also carry their documented ordinal."""

    number: int

    def __new__(cls, spelling: str, number: int) -> Self:
        member = str.__new__(cls, spelling)
        member._value_ = spelling
        member.number = number
        return member

    @classmethod
    def from_number(cls, number: int) -> Self:
        """The member with this ordinal; `ValueError` where there is none."""
        for member in cls:
            if member.number == number:
                return member
        raise ValueError(f"{number} is not a {cls.__name__}")


class Space(NumberedEnum):
    """Where a tensor lives (`MemoryType` bit flags, bir.md 1.4)."""

    HBM = "hbm", 8
    SBUF = "sbuf", 16
    PSUM = "psum", 32

    @property
    def on_chip(self) -> bool:
        """Whether tensors of this space have a partition dimension."""
        return self is not Space.HBM


class Engine(NumberedEnum):
    """`EngineType` (bir.md 1.1); `Unassigned` means that the compiler decides."""

    UNASSIGNED = "Unassigned", 0
    POOL = "Pool", 1
    ACTIVATION = "Activation", 2
    PE = "PE", 3
    DMA = "DMA", 4
    DVE = "DVE", 5
    SP = "SP", 6
    ALL = "ALL", 7


class AluOp(NumberedEnum):
    """`AluOpType` (bir.md 1.14)."""

    BYPASS = "bypass", 0
    BITWISE_NOT = "bitwise_not", 1
    ARITH_SHIFT_LEFT = "arith_shift_left", 2
    ARITH_SHIFT_RIGHT = "arith_shift_right", 3
    ADD = "add", 4
    SUBTRACT = "subtract", 5
    MULT = "mult", 6
    DIVIDE = "divide", 7
    MAX = "max", 8
    MIN = "min", 9
    BITWISE_AND = "bitwise_and", 10
    BITWISE_OR = "bitwise_or", 11
    BITWISE_XOR = "bitwise_xor", 12
    LOGICAL_AND = "logical_and", 13
    LOGICAL_OR = "logical_or", 14
    LOGICAL_XOR = "logical_xor", 15
    LOGICAL_SHIFT_LEFT = "logical_shift_left", 16
    LOGICAL_SHIFT_RIGHT = "logical_shift_right", 17
    IS_EQUAL = "is_equal", 18
    NOT_EQUAL = "not_equal", 19
    IS_GT = "is_gt", 20
    IS_GE = "is_ge", 21
    IS_LT = "is_lt", 22
    IS_LE = "is_le", 23
    AVERAGE = "average", 24
    ELEMWISE_MUL = "elemwise_mul", 25
    POW = "pow", 26
    MOD = "mod", 27
    RSQRT = "rsqrt", 28
    ABS = "abs", 29
    ABS_MAX = "abs_max", 30
    ABS_MIN = "abs_min", 31
    MOD_INT = "mod_int", 32

    @property
    def is_bitvec(self) -> bool:
        """Whether it works on raw bit patterns instead of fp32 (penguin.md 2.2)."""
        return self in _BITVEC


_BITVEC = frozenset(
    {
        AluOp.BITWISE_NOT,
        AluOp.ARITH_SHIFT_LEFT,
        AluOp.ARITH_SHIFT_RIGHT,
        AluOp.BITWISE_AND,
        AluOp.BITWISE_OR,
        AluOp.BITWISE_XOR,
        AluOp.LOGICAL_SHIFT_LEFT,
        AluOp.LOGICAL_SHIFT_RIGHT,
        AluOp.MOD_INT,
    }
)


class ActivationFunction(NumberedEnum):
    """`ActivationFunctionType` (bir.md 1.21)."""

    IDENTITY = "Identity", 0
    SQUARE = "Square", 1
    RELU = "Relu", 2
    LRELU = "Lrelu", 3
    PRELU = "Prelu", 4
    SIGMOID = "Sigmoid", 5
    TANH = "Tanh", 6
    EXP = "Exp", 7
    SOFTPLUS = "Softplus", 8
    SQRT = "Sqrt", 9
    RSQRT = "Rsqrt", 10
    LN = "Ln", 11
    ERF = "Erf", 12
    SIN = "Sin", 13
    ARCTAN = "Arctan", 14
    SIGN = "Sign", 15
    GELU = "Gelu", 16
    MISH = "Mish", 17
    GELU_APPRX_TANH = "Gelu_apprx_tanh", 18
    GELU_APPRX_SIGMOID = "Gelu_apprx_sigmoid", 19
    DERIVATIVE_GELU_APPRX_SIGMOID = "Derivative_Gelu_apprx_sigmoid", 20
    DERIVATIVE_GELU = "Derivative_Gelu", 21
    DERIVATIVE_ERF = "Derivative_Erf", 22
    COPY = "Copy", 23
    ABS = "Abs", 24
    RECIPROCAL = "Reciprocal", 25
    ABS_RECIPROCAL_SQRT = "Abs_reciprocal_sqrt", 26
    SILU = "Silu", 27
    DERIVATIVE_SILU = "Derivative_silu", 28
    IS_FINITE = "Is_finite", 29


class DgeType(NumberedEnum):
    """`DGEType` (dma.md 1.1): who builds a DMA's descriptors."""

    NONE = "none", 0
    SWDGE = "swdge", 1
    HWDGE = "hwdge", 2
    UNASSIGNED = "unassigned", 3


class OobMode(NumberedEnum):
    """NKI `oob_mode` (penguin.md 2.1): an out-of-bounds index fails or is skipped."""

    ERROR = "error", 0
    SKIP = "skip", 1


class QosClass(NumberedEnum):
    """`DMAQoSClass` (dma.md 1.7), the classes that fit the wire (dma.md 13.3)."""

    UNASSIGNED = "Unassigned", 0
    DEFAULT = "Default", 1
    P0 = "P0", 2
    P1 = "P1", 3
    P2 = "P2", 4
    P3 = "P3", 5


class EdgeKind(NumberedEnum):
    """Dependency edge kinds (bir.md 1.11)."""

    ORDERED = "ordered", 1
    ANTI = "anti", 2
    OUTPUT = "output", 3
    FLOW = "flow", 4


class CopyMode(NumberedEnum):
    """`CopyMode` of a `DMACopy` (bir.md 1.16)."""

    COPY = "Copy", 0
    TRANSPOSE = "Transpose", 1
    CCE = "CCE", 2
    REPLICATE = "Replicate", 3


class TransposeOp(NumberedEnum):
    """`TransposeOps` (dma.md 1.5): destination axis order of a source [W,Z,Y,X]."""

    NONE = "None", 0
    WZXY = "WZXY", 1
    WXZY = "WXZY", 2
    WYXZ = "WYXZ", 3
    ZWYX = "ZWYX", 4
    ZYWX = "ZYWX", 5
    ZYXW = "ZYXW", 6
    YXWZ = "YXWZ", 7
    YXZW = "YXZW", 8
    YWZX = "YWZX", 9
    XWZY = "XWZY", 10
    XZYW = "XZYW", 11
    XYZW = "XYZW", 12
    XYWZ = "XYWZ", 13

    @property
    def permutation(self) -> tuple[int, int, int, int]:
        """For each destination position, the source axis it reads."""
        if self is TransposeOp.NONE:
            return (0, 1, 2, 3)
        w, z, y, x = ("WZYX".index(axis) for axis in self.value)
        return (w, z, y, x)


class AccumulateCommand(NumberedEnum):
    """`EngineAccumulationType` (bir.md 1.15) of the ACT and DVE accumulators."""

    IDLE = "Idle", 0
    ZERO = "Zero", 1
    ACCUMULATE = "Accumulate", 2
    ZERO_ACCUMULATE = "ZeroAccumulate", 3
    ADD_ACCUMULATE = "AddAccumulate", 4
    LOAD_ACCUMULATE = "LoadAccumulate", 5


class RandomAlgorithm(NumberedEnum):
    """`RandomAlgorithmKind` (bir.md 1.20)."""

    LFSR = "LFSR", 0
    PCG32 = "PCG32", 1
    PHILOX_1 = "PHILOX_1", 2


class RandomDistribution(NumberedEnum):
    """`RandomDistributionKind` (bir.md 1.20)."""

    RAW = "Raw", 0
    UNIFORM = "Uniform", 1
    NORMAL = "Normal", 2
    BINOMIAL = "Binomial", 3


class MatmulAccumulate(NumberedEnum):
    """
    How a matmul meets what its PSUM destination holds.

    `auto` (the language's default) overwrites elements that are fresh since their
    allocation executed and adds to the others; the other two are explicit. The
    numbers are the START and ACCUMULATE bits of `accumulation_flag` (bir.md 6.10).
    """

    AUTO = "auto", 0
    OVERWRITE = "overwrite", 1
    ACCUMULATE = "accumulate", 4


class MatmulPerfMode(NumberedEnum):
    """`MatmultPerfMode` (bir.md 1): several elements to a cell of the array."""

    NONE = "None", 0
    DOUBLE_ROW = "DoubleRow", 1
    DOUBLE_COLUMN = "DoubleColumn", 2
    DOUBLE_PIXEL = "DoublePixel", 3
    DOUBLE_ROW_SW_INTERLEAVE = "DoubleRowSwInterleave", 4

    @property
    def rows_per_partition(self) -> int:
        """Terms of the contraction that one partition holds."""
        return 2 if self in _DOUBLE_ROWS else 1


_DOUBLE_ROWS = frozenset(
    {MatmulPerfMode.DOUBLE_ROW, MatmulPerfMode.DOUBLE_ROW_SW_INTERLEAVE}
)


class LoopKind(NumberedEnum):
    """Axis types of rolled loops (penguin.md 2.1, declaration order)."""

    PARALLEL = "parallel", 1
    SEQUENTIAL = "sequential", 2
    SHARD = "shard", 3
    SPMD = "spmd", 8


class TensorKind(NumberedEnum):
    """What a memory location is to the caller (bir.md 1.6)."""

    INPUT = "ExternalInput", 0
    OUTPUT = "ExternalOutput", 3
    CONST = "Const", 6
    INTERNAL = "Internal", 7
