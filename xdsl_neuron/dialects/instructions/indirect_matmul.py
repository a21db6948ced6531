"""Products of the tensor engine whose operands may be picked by offsets (trn3)."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions.matrix import Matmul
from xdsl_neuron.dialects.instructions.systolic import MatmulBase
from xdsl_neuron.dialects.instructions.tensor_indirect import (
    DOCUMENTED,
    TensorIndirect,
)
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dtypes import DType

INDIRECT_DTYPES = (
    DType.FLOAT16,
    DType.BFLOAT16,
    DType.FLOAT8_E4M3,
    DType.FLOAT8_E5M2,
    DType.FLOAT8_E4M3FN,
)


class IndirectProduct(TensorIndirect, MatmulBase):
    """A product of which each operand may have an index."""

    INDIRECT: ClassVar = {
        "dst": "dst",
        "stationary": "stationary",
        "moving": "moving",
    }

    @classmethod
    def factors(cls) -> tuple[str, ...]:
        """The inputs without the indices."""
        return tuple(name for name in cls.INS if name not in cls.index_names())

    stationary_num_indices = opt_prop_def(IntegerAttr)
    moving_num_indices = opt_prop_def(IntegerAttr)

    @gate(
        "Tensor indirection is incompatible with hardware tiling, so tile_position "
        "must be (0, 0)",
        DOCUMENTED,
    )
    def indirect_untiled(self) -> None:
        """Operands that are picked use the array from its first cell."""
        row, column = self.tile_row, self.tile_column
        if row is None or column is None:
            return
        for name, _ in self.indirect_operands():
            if any((*self.values_of(row.data), *self.values_of(column.data))):
                raise VerifyException(
                    "Tensor indirection is incompatible with hardware tiling, so "
                    f"tile_position must be (0, 0) where '{name}' has an index, got "
                    f"({row.render()}, {column.render()})"
                )

    @gate("accumulate of a scattered dst is True or False", DOCUMENTED, "our choice")
    def scattered_accumulation(self) -> None:
        """Where it is written is known while running, and so is what is fresh."""
        if self.is_open and "dst_index" in self.data_values():
            raise VerifyException(
                "a matmul that scatters its result cannot tell which elements are "
                "written the first time; say accumulate=True or accumulate=False"
            )


class IndirectMatmul(IndirectProduct, Matmul):
    """A matmul of which each operand may have an index."""

    INS: ClassVar = (
        "stationary",
        "moving",
        "dst_index",
        "stationary_index",
        "moving_index",
    )

    dst = operand_def(TensorType)
    stationary = operand_def(TensorType)
    moving = operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    stationary_index = opt_operand_def(TensorType)
    moving_index = opt_operand_def(TensorType)

    @gate("The indirect operands must be a Tensor-Engine float dtype", DOCUMENTED)
    def indirect_dtypes(self) -> None:
        """Inputs that are picked have types the array multiplies at full rate."""
        data = self.data()
        for name, _ in self.indirect_operands():
            dtype = data[name].dtype
            if name in self.INS and dtype not in INDIRECT_DTYPES:
                raise VerifyException(
                    "The indirect operands must be a Tensor-Engine float dtype, got "
                    f"{dtype.nki_name} for '{name}', expected one of "
                    f"{', '.join(each.nki_name for each in INDIRECT_DTYPES)}"
                )

    @gate("When is_transpose=True, moving cannot use tensor indirection", DOCUMENTED)
    def transpose_moving(self) -> None:
        """The identity of a transpose is a plain operand."""
        if self.is_transpose is not None and "moving_index" in self.data_values():
            raise VerifyException(
                "When is_transpose=True, moving cannot use tensor indirection; pick "
                "from stationary"
            )
