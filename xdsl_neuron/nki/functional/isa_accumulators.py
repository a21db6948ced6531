"""Two operations in one instruction, scans, and folds beside a result."""

from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.accumulators import as_cumulative, as_fold, as_reduce_op
from xdsl_neuron.nki.api import one_instruction
from xdsl_neuron.nki.arguments import (
    as_flag,
    as_mask,
    as_operand,
    as_optional_operand,
    as_view,
    hidden_options,
)
from xdsl_neuron.nki.dtype import as_optional_dtype
from xdsl_neuron.nki.enums import reduce_cmd
from xdsl_neuron.nki.isa.accumulators import as_on_false
from xdsl_neuron.nki.ops import OPS, as_alu, as_function
from xdsl_neuron.nki.stages import as_stage
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.compute import promote_type
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.tiles import Number
from xdsl_neuron.tracer.views import View


@one_instruction
def scalar_tensor_tensor(
    *,
    data: Any,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: Any = None,
    mask: Any = None,
    **hidden: Any,
) -> View:
    """`(data op0 operand0) op1 operand1`, operand1 a tile."""
    names = ("op0", "operand0")
    first = as_stage(op0, operand0, reverse0, "scalar_tensor_tensor", names)
    return session().scalar_tensor_tensor(
        as_view(data, "data"),
        first.op,
        first.scalar,
        as_alu(op1, "scalar_tensor_tensor", "op1"),
        as_view(operand1, "operand1"),
        first.reverse,
        as_flag(reverse1, "reverse1"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("scalar_tensor_tensor", hidden),
    )


@one_instruction
def tensor_tensor_scan(
    data0: Any,
    data1: Any,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    **hidden: Any,
) -> View:
    """`r = (data0[i] op0 r) op1 data1[i]` at every i, r starts as `initial`."""
    first, second = as_view(data0, "data0"), as_view(data1, "data1")
    return session().tensor_tensor_scan(
        first,
        second,
        as_operand(initial, "initial"),
        as_alu(op0, "tensor_tensor_scan", "op0"),
        as_alu(op1, "tensor_tensor_scan", "op1"),
        as_flag(reverse0, "reverse0"),
        as_flag(reverse1, "reverse1"),
        as_mask(mask),
        as_optional_dtype(dtype) or promote_type(first, second),
        **hidden_options("tensor_tensor_scan", hidden),
    )


@one_instruction
def tensor_scalar_reduce(
    *,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any,
    reverse0: bool = False,
    dtype: Any = None,
    mask: Any = None,
    **hidden: Any,
) -> View:
    """`data op0 operand0`; `reduce_res` is its fold over all free dimensions."""
    api_name = "tensor_scalar_reduce"
    first = as_stage(op0, operand0, reverse0, api_name, ("op0", "operand0"))
    return session().tensor_scalar_reduce(
        as_view(data, "data"),
        first.op,
        first.scalar,
        as_alu(reduce_op, api_name, "reduce_op"),
        as_fold(reduce_cmd.reset_reduce, reduce_res),
        first.reverse,
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("tensor_scalar_reduce", hidden),
    )


@one_instruction
def tensor_scalar_cumulative(
    *,
    src: Any,
    dst: Any,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    mask: Any = None,
    **hidden: Any,
) -> None:
    """`r = (src[i] op0 imm0) op1 r` into `dst[i]`; `load_reduce` starts with imm1."""
    api_name = "tensor_scalar_cumulative"
    first = as_stage(op0, imm0, False, api_name, ("op0", "imm0"))
    session().tensor_scalar_cumulative(
        as_view(src, "src"),
        first.op,
        as_alu(op1, api_name, "op1"),
        first.scalar,
        as_cumulative(imm1, reduce_cmd),
        as_view(dst, "dst"),
        as_mask(mask),
        **hidden_options("tensor_scalar_cumulative", hidden),
    )


def as_bias(value: Any, api: str) -> View | Number | None:
    """A bias of one of the types of generation 0.1; later ones add any (0.5)."""
    found = as_optional_operand(value, "bias")
    allowed = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
    if isinstance(found, View) and found.element_type not in allowed:
        raise NKITypeError(
            f"'bias' param of '{api}' must be a vector of type float32, float16, or "
            f"bfloat16, got '{found.element_type.nki_name}'"
        )
    return found


@one_instruction
def activation_reduce(
    op: Any,
    data: Any,
    *,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
    mask: Any = None,
    dtype: Any = None,
    **hidden: Any,
) -> View:
    """`op(data * scale + bias)`; `reduce_res` is its sum over each row."""
    return session().activation_reduce(
        as_function(op, "activation_reduce"),
        as_view(data, "data"),
        as_alu(reduce_op, "activation_reduce", "reduce_op"),
        as_fold(reduce_cmd.reset_reduce, reduce_res),
        as_bias(bias, "activation_reduce"),
        as_operand(scale, "scale"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("activation_reduce", hidden),
    )


@one_instruction
def select_reduce(
    *,
    dst: Any,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    reduce_op: Any = OPS["maximum"],
    reverse_pred: bool = False,
    mask: Any = None,
    dtype: Any = None,
    **hidden: Any,
) -> None:
    """`dst = predicate ? on_true : on_false`, each row's largest folded."""
    target, kind = as_view(dst, "dst"), as_optional_dtype(dtype)
    if kind not in (None, target.element_type):
        raise NKIValueError(
            f"dst dtype must match instruction dtype, got {target!r} and {kind}"
        )
    session().select_reduce(
        target,
        as_view(predicate, "predicate"),
        as_view(on_true, "on_true"),
        as_on_false(on_false),
        as_reduce_op(reduce_op, "select_reduce", AluOp.MAX),
        as_fold(reduce_cmd, reduce_res),
        as_flag(reverse_pred, "reverse_pred"),
        as_mask(mask),
        **hidden_options("select_reduce", hidden),
    )
