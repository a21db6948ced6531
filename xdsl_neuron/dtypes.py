"""
Element types: one row each, their names in every layer, and the promotion rules.

Pure data. The arrays that hold the types are the business of `numerics.casts`; only
the name of the NumPy dtype stands here, so that nothing imports NumPy.
"""

from collections.abc import Callable
from enum import Enum
from typing import Self


class DType(Enum):
    """
    The closed list of element types (bir.md 1.3, dma.md 1.12).

    A member's value is its name in IR. The columns of a row:

    * `ordinal`: the BIR ordinal.
    * `ir_name`, `bir_name`, `nki_name`: the spelling in our IR, in BIR JSON and in the
      language (the member's name). `float8_e3m4`, `uint64` and `int64` have no name in
      NKI (nki.md 5.1); theirs is for messages.
    * `numpy_name`: the dtype that stores it, of NumPy or of ml_dtypes; the packed types
      are stored in unsigned containers, tf32 in float32.
    * `bytes`: size of the container. `lanes`: elements in it.
    * `wire_tag`: the tag in encoded instructions of core_v4. Only `float4_e2m1fn_x4`
      has another one (5) in earlier encodings, which cannot compute with it.
    """

    # name = ordinal, ir_name, numpy_name, bytes, wire_tag[, bir_name where not nki's]
    UINT8 = 0, "u8", "uint8", 1, 3
    INT8 = 1, "i8", "int8", 1, 2
    FLOAT4_E2M1FN_X4 = 2, "f4e2m1fn_x4", "uint16", 2, 16
    FLOAT8_E3M4 = 3, "f8e3m4", "float8_e3m4", 1, 13, "float8e3"
    FLOAT8_E4M3 = 4, "f8e4m3", "float8_e4m3", 1, 14, "float8e4"
    FLOAT8_E4M3FN = 5, "f8e4m3fn", "float8_e4m3fn", 1, 14
    FLOAT8_E8M0FNU = 6, "f8e8m0fnu", "float8_e8m0fnu", 1, 3
    FLOAT8_E5M2 = 7, "f8e5m2", "float8_e5m2", 1, 15, "float8e5"
    FLOAT8_E4M3FN_X4 = 8, "f8e4m3fn_x4", "uint32", 4, 14
    FLOAT8_E5M2_X4 = 9, "f8e5m2_x4", "uint32", 4, 15
    UINT16 = 10, "u16", "uint16", 2, 5
    INT16 = 11, "i16", "int16", 2, 4
    BFLOAT16 = 12, "bf16", "bfloat16", 2, 6
    FLOAT16 = 13, "f16", "float16", 2, 7
    UINT32 = 14, "u32", "uint32", 4, 9
    INT32 = 15, "i32", "int32", 4, 8
    FLOAT32 = 16, "f32", "float32", 4, 10
    TFLOAT32 = 17, "tf32", "float32", 4, 11, "float32r"
    UINT64 = 18, "u64", "uint64", 8, 1
    INT64 = 19, "i64", "int64", 8, 12

    ordinal: int
    ir_name: str
    bir_name: str
    nki_name: str
    numpy_name: str
    bytes: int
    wire_tag: int
    lanes: int
    is_packed: bool
    is_fp8: bool
    is_float: bool
    is_integer: bool
    is_signed: bool

    def __new__(cls, ordinal: int, ir_name: str, *_row: object) -> Self:
        member = object.__new__(cls)
        member._value_ = ir_name
        return member

    def __init__(
        self,
        ordinal: int,
        ir_name: str,
        numpy_name: str,
        bytes: int,
        wire_tag: int,
        bir_name: str = "",
    ):
        self.ordinal = ordinal
        self.ir_name = ir_name
        self.nki_name = self.name.lower()
        self.bir_name = bir_name or self.nki_name
        self.numpy_name = numpy_name
        self.bytes = bytes
        self.wire_tag = wire_tag
        self._classify()

    def _classify(self) -> None:
        """
        Set what follows from the name.

        `is_float` means a value with a sign and a fraction in every element; a packed
        container and the block scale `float8_e8m0fnu` are neither float nor integer.
        `is_fp8` holds for the unpacked fp8 types only.
        """
        name = self.nki_name
        self.is_packed = name.endswith("_x4")
        self.lanes = 4 if self.is_packed else 1
        is_scale = name == "float8_e8m0fnu"
        self.is_integer = "int" in name
        self.is_float = not (self.is_integer or self.is_packed or is_scale)
        self.is_fp8 = self.is_float and self.bytes == 1
        self.is_signed = not (is_scale or name.startswith("uint"))

    # Members are singletons: identity is their hash, and C computes it.
    __hash__ = object.__hash__

    @classmethod
    def from_ir(cls, text: str) -> "DType":
        """The type spelled `text` in IR; `ValueError` lists the spellings."""
        return _look_up(_BY_IR, text, "element type")

    @classmethod
    def from_bir(cls, text: str) -> "DType":
        """The type spelled `text` in BIR JSON; `ValueError` lists the spellings."""
        return _look_up(_BY_BIR, text, "BIR dtype")

    @classmethod
    def from_nki(cls, text: str) -> "DType":
        """
        The type spelled `text` in NKI; `ValueError` lists the spellings.

        `bool_` and `bool` are uint8 holding 0 or 1 (nki.md 5.3).
        """
        return _look_up(_BY_NKI, text, "NKI dtype")

    @classmethod
    def from_ordinal(cls, number: int) -> "DType":
        """The type with this BIR ordinal; `ValueError` names the range."""
        if 0 <= number < len(_BY_ORDINAL):
            return _BY_ORDINAL[number]
        # "Unknown dtype" is the vendor's literal (bir.md 1.3).
        raise ValueError(
            f"Unknown dtype {number}: expected an ordinal from 0 to "
            f"{len(_BY_ORDINAL) - 1}"
        )


def _index(name_of: Callable[[DType], str]) -> dict[str, DType]:
    return {name_of(dtype): dtype for dtype in DType}


def _look_up(index: dict[str, DType], text: str, what: str) -> DType:
    try:
        return index[text]
    except KeyError:
        raise ValueError(
            f"unknown {what} '{text}': expected one of {', '.join(index)}"
        ) from None


_BY_IR = _index(lambda dtype: dtype.ir_name)
_BY_BIR = _index(lambda dtype: dtype.bir_name)
_BY_NKI = _index(lambda dtype: dtype.nki_name) | dict.fromkeys(
    ("bool_", "bool"), DType.UINT8
)
_BY_ORDINAL = tuple(sorted(DType, key=lambda dtype: dtype.ordinal))

# Pairs of equally wide floats. The first three are the functional generation's table
# (nki.md 5.1), which prefers fp32 to tf32 where the back end does the opposite; the
# others follow the back end's order e4m3 > e4m3fn > e5m2 (bir.md 1.3). e3m4 is in
# neither, so a pair with another fp8 type is refused.
_EQUALLY_WIDE_FLOATS = {
    frozenset({DType.FLOAT32, DType.TFLOAT32}): DType.FLOAT32,
    frozenset({DType.FLOAT16, DType.BFLOAT16}): DType.FLOAT32,
    frozenset({DType.FLOAT8_E4M3, DType.FLOAT8_E5M2}): DType.BFLOAT16,
    frozenset({DType.FLOAT8_E4M3, DType.FLOAT8_E4M3FN}): DType.FLOAT8_E4M3,
    frozenset({DType.FLOAT8_E4M3FN, DType.FLOAT8_E5M2}): DType.FLOAT8_E4M3FN,
}

# The smallest type that holds an unsigned type and a signed one no wider than it.
# int32 + uint32 is float32 in nki.md 5.1. Our choice: uint32 with a narrower signed
# type is float32 too, since the language has no int64. uint64: bir.md 1.3.
_UNSIGNED_WITH_SIGNED = {
    DType.UINT8: DType.INT16,
    DType.UINT16: DType.INT32,
    DType.UINT32: DType.FLOAT32,
    DType.UINT64: DType.FLOAT32,
}


def promote(a: DType, b: DType) -> DType:
    """
    The result type of a binary operation of the functional generation (nki.md 5.1).

    Packed types and `float8_e8m0fnu` have none, not even with themselves (our choice:
    the table and bir.md 1.3 leave them out). `ValueError` carries the vendor's literal.
    """
    arithmetic = all(dtype.is_float or dtype.is_integer for dtype in (a, b))
    if not arithmetic:
        raise _no_promotion(a, b)
    if a is b:
        return a
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.is_integer:
        return _promote_integers(a, b)
    if a.bytes != b.bytes:
        return max(a, b, key=lambda dtype: dtype.bytes)
    result = _EQUALLY_WIDE_FLOATS.get(frozenset({a, b}))
    if result is None:
        raise _no_promotion(a, b)
    return result


class TypedInt(int):
    """An integer with a type of its own, as `np.int8(3)` has one."""

    kind: DType


class TypedFloat(float):
    """A number with a type of its own, as `np.float16(2)` has one."""

    kind: DType


def typed_number(value: float, kind: DType) -> float:
    """A Python number that promotes as `kind` does."""
    number = TypedInt(value) if isinstance(value, int) else TypedFloat(value)
    number.kind = kind
    return number


def promote_scalar(a: DType, value: float) -> DType:
    """
    The result type of an operation with a number (nki.md 5.1).

    A Python bool counts as uint8, an int as int32, a float as float32, whatever its
    value (our choice: an int beyond int32 does not change the type); a number that has
    a type counts as that.
    """
    if isinstance(value, TypedInt | TypedFloat):
        return promote(a, value.kind)
    if isinstance(value, bool):
        return promote(a, DType.UINT8)
    return promote(a, DType.INT32 if isinstance(value, int) else DType.FLOAT32)


def _promote_integers(a: DType, b: DType) -> DType:
    if a.is_signed == b.is_signed:
        return max(a, b, key=lambda dtype: dtype.bytes)
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if signed.bytes > unsigned.bytes:
        return signed
    return _UNSIGNED_WITH_SIGNED[unsigned]


def _no_promotion(a: DType, b: DType) -> ValueError:
    return ValueError(
        "No available implicit dtype promotion path for input dtypes "
        f"{a.nki_name} and {b.nki_name}. Use .astype(dtype) explicitly."
    )
