"""The type shared by all levels: tensors by memory space."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Final

from xdsl.ir import Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.neuron.text import Cursor, resume
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space

PARTITIONS: Final = Arch.sbuf_partitions
"""Partitions of SBUF and PSUM on every generation with a back end (bir.md 5)."""


@dataclass(frozen=True)
class TensorSpec:
    """Shape (partitions first on chip), element type and memory space."""

    shape: tuple[int, ...]
    dtype: DType
    space: Space

    @cached_property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @cached_property
    def pitch(self) -> int:
        """Elements of one partition on chip; all elements in HBM."""
        return prod(self.shape[1:]) if self.space.on_chip else self.size

    @cached_property
    def partitions(self) -> int:
        """Partitions on chip; 1 in HBM."""
        return self.shape[0] if self.space.on_chip else 1

    @cached_property
    def bytes_per_partition(self) -> int:
        """Bytes a partition holds on chip; all bytes in HBM."""
        return self.pitch * self.dtype.bytes


@irdl_attr_definition
class TensorType(Data[TensorSpec], TypeAttribute):
    """
    `!neuron.tensor<128x512xf32, sbuf>`: a buffer in one memory space.

    On chip (`sbuf`, `psum`) the first dimension is the partition dimension.
    """

    name = "neuron.tensor"

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(shape: tuple[int, ...], dtype: DType, space: Space) -> "TensorType":
        """The type with these properties (one object for equal ones)."""
        return TensorType(TensorSpec(shape, dtype, space))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent per dimension."""
        return self.data.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.data.dtype

    @property
    def space(self) -> Space:
        """Memory space."""
        return self.data.space

    def get_shape(self) -> tuple[int, ...]:
        """Extent per dimension, as xDSL's shaped types name it."""
        return self.data.shape

    def verify(self) -> None:
        """Positive dimensions; at most 128 partitions on chip."""
        shape = self.data.shape
        if any(extent <= 0 for extent in shape):
            raise VerifyException(
                f"tensor has shape {shape}, which must be all positive, non-zero "
                "values."
            )
        if not self.data.space.on_chip:
            return
        if not shape:
            raise VerifyException(
                "The leading dimension of SBUF/PSUM tensors must be the partition "
                "dimension. The tensor has shape ()"
            )
        if shape[0] > PARTITIONS:
            raise VerifyException(
                f"number of partitions {shape[0]} exceed architecture limitation of "
                f"{PARTITIONS}"
            )

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorSpec:
        """`<` (dim `x`)* dtype `,` space `>`."""
        cursor = Cursor.at(parser)
        spec = scan_tensor_spec(cursor)
        resume(parser, cursor.pos)
        return spec

    def print_parameter(self, printer: Printer) -> None:
        """The body in angle brackets."""
        printer.print_string(render_tensor_spec(self.data))


def scan_tensor_spec(cursor: Cursor) -> TensorSpec:
    """Reads `<128x512xf32, sbuf>`."""
    cursor.expect("<")
    start = cursor.pos
    dims, element = cursor.shape()
    try:
        dtype = DType.from_ir(element)
    except ValueError as error:
        cursor.fail(str(error), start)
    cursor.expect(",")
    space = cursor.enum(Space)
    cursor.expect(">")
    return TensorSpec(dims, dtype, space)


def render_tensor_spec(spec: TensorSpec) -> str:
    """The text of a tensor type's body."""
    dims = "".join(f"{extent}x" for extent in spec.shape)
    return f"<{dims}{spec.dtype.ir_name}, {spec.space}>"


def scan_dtype(cursor: Cursor) -> DType:
    """Reads an element type by its IR name."""
    start = cursor.pos
    word = cursor.word()
    try:
        return DType.from_ir(word)
    except ValueError as error:
        cursor.fail(str(error), start)
