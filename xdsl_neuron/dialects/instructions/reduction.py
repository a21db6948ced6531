"""Reductions along free dimensions."""

from math import prod
from typing import ClassVar, Final

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, i64
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions.elementwise import check_integers
from xdsl_neuron.dialects.instructions.masks import bounds_one_lane, check_can_hold
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import AluOpAttr, TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.isa import AluOp

REDUCE_OPS = (
    AluOp.ADD,
    AluOp.SUBTRACT,
    AluOp.MULT,
    AluOp.MAX,
    AluOp.MIN,
    AluOp.BITWISE_AND,
    AluOp.BITWISE_OR,
    AluOp.BITWISE_XOR,
    AluOp.LOGICAL_AND,
    AluOp.LOGICAL_OR,
    AluOp.LOGICAL_XOR,
    AluOp.ABS_MAX,
)
"""The legal reductions of the page "Supported Math Operators", and abs_max."""

IDENTITIES: Final[dict[AluOp, float]] = {
    AluOp.ADD: 0.0,
    AluOp.MULT: 1.0,
    AluOp.MAX: float("-inf"),
    AluOp.MIN: float("inf"),
    AluOp.ABS_MAX: 0.0,
    AluOp.LOGICAL_AND: 1.0,
    AluOp.LOGICAL_OR: 0.0,
    AluOp.LOGICAL_XOR: 0.0,
    AluOp.BITWISE_AND: -1,
    AluOp.BITWISE_OR: 0,
    AluOp.BITWISE_XOR: 0,
}
"""
What a reduction reads where its mask does not hold (design.md 7b).

A difference starts with its first element, so there is none.
"""


class TensorReduce(TensorIndirect):
    """
    Folds the innermost dimensions of `src` with `op` into `dst`.

    `axes` are the folded dimensions of `src`; `negate` negates the result.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "dst_index", "src_index")
    HEADER: ClassVar = ("op",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)
    op = prop_def(AluOpAttr)
    axes = prop_def(DenseArrayBase.constr(i64))
    negate = opt_prop_def(UnitAttr)

    def axis_list(self) -> tuple[int, ...]:
        """The folded dimensions of `src`."""
        return self.axes.get_values()

    def lane_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """The source's dimensions."""
        return data["src"].shape

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """The output has the lanes that are not folded."""
        lanes = range(len(data["src"].shape))
        kept = [lane for lane in lanes if lane not in self.axis_list()]
        dst = data["dst"].shape
        if len(dst) == len(kept):
            dst_lanes = tuple(kept)
        elif len(dst) == len(lanes):
            dst_lanes = tuple(lane if lane in kept else -1 for lane in lanes)
        else:
            dst_lanes = (kept[0], *(-1 for _ in dst[1:]))
        return {"src": tuple(lanes), "dst": dst_lanes}

    @gate(
        "mask takes a remainder of '...', whose least value has several bounds",
        "design.md 7b",
        "our choice",
    )
    def mask_can_hold(self) -> None:
        """It is known of each iteration whether the mask holds anywhere in it."""
        check_can_hold(self)

    @gate(
        "mask '...' does not bound one dimension by itself", "design.md 7b", "inferred"
    )
    def masked_difference(self) -> None:
        """An operation without identity has no place for what a mask leaves out."""
        if self.op.data in IDENTITIES:
            return
        for predicate in self.masks():
            if not bounds_one_lane(predicate):
                raise VerifyException(
                    f"mask '{predicate} >= 0' does not bound one dimension by itself; "
                    f"{self.op.data} starts with the first element, use add and negate"
                )

    @gate("Reduction on partition axes is not supported", "penguin.md 7")
    def free_axes(self) -> None:
        """The axes are the last free dimensions, at least one."""
        axes = self.axis_list()
        rank = len(self.data()["src"].shape)
        if not axes:
            raise VerifyException("Empty axis not supported")
        if 0 in axes:
            raise VerifyException(
                "Reduction on partition axes is not supported, got axes "
                f"{list(axes)}; transpose first or use tensor_partition_reduce"
            )
        if axes != tuple(range(rank - len(axes), rank)):
            raise VerifyException(
                f"axes {list(axes)} are not the last dimensions of a source of rank "
                f"{rank}; permute its access pattern"
            )

    @gate("... is not supported in '...'", "penguin.md 5")
    def reduce_op(self) -> None:
        """The operations the vector engine folds with."""
        op = self.op.data
        if op not in REDUCE_OPS:
            allowed = ", ".join(item.value for item in REDUCE_OPS)
            raise VerifyException(
                f"{op} is not supported in '{self.name}', expected one of {allowed}"
            )
        if op.is_bitvec:
            check_integers(self, "src", "dst")

    @gate(
        "negate option can only be used with arithmetic ops, unsupported op=...",
        "penguin.md 5",
    )
    def negate_arithmetic(self) -> None:
        """A bit pattern has no negative."""
        if self.negate is not None and self.op.data.is_bitvec:
            raise VerifyException(
                "negate option can only be used with arithmetic ops, unsupported "
                f"op={self.op.data}"
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def reduced_shape(self) -> None:
        """The output has the source's dimensions without the folded ones."""
        data = self.data()
        src, dst = data["src"], data["dst"]
        kept = prod(
            extent
            for dim, extent in enumerate(src.shape)
            if dim and dim not in self.axis_list()
        )
        if (dst.partitions, dst.free_count) != (src.partitions, kept):
            raise VerifyException(
                f"tile shape mismatch, expected '[{src.partitions}, {kept}]' for "
                f"'dst', got {list(dst.shape)}"
            )
