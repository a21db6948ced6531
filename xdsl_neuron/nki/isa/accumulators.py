"""Two operations in one instruction, scans, and folds beside a result (nki.md 1.1)."""

from typing import Any

from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.accumulators import as_cumulative, as_fold, as_reduce_op
from xdsl_neuron.nki.arguments import (
    as_flag,
    as_name,
    as_operand,
    as_optional_operand,
    as_view,
)
from xdsl_neuron.nki.enums import as_reduce_cmd, engine, reduce_cmd
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.isa.compute import as_activation_engine
from xdsl_neuron.nki.ops import OPS, as_alu, as_function
from xdsl_neuron.nki.stages import as_stage
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.tiles import Number
from xdsl_neuron.tracer.views import View


@instruction
def scalar_tensor_tensor(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> None:
    """`dst = (data op0 operand0) op1 operand1`, operand1 a tile."""
    names = ("op0", "operand0")
    first = as_stage(op0, operand0, reverse0, "scalar_tensor_tensor", names)
    session().scalar_tensor_tensor(
        as_view(data, "data"),
        first.op,
        first.scalar,
        as_alu(op1, "scalar_tensor_tensor", "op1"),
        as_view(operand1, "operand1"),
        first.reverse,
        as_flag(reverse1, "reverse1"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def tensor_tensor_scan(
    dst: Any,
    data0: Any,
    data1: Any,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> None:
    """`r = (data0[i] op0 r) op1 data1[i]` into `dst[i]`, r starts as `initial`."""
    session().tensor_tensor_scan(
        as_view(data0, "data0"),
        as_view(data1, "data1"),
        as_operand(initial, "initial"),
        as_alu(op0, "tensor_tensor_scan", "op0"),
        as_alu(op1, "tensor_tensor_scan", "op1"),
        as_flag(reverse0, "reverse0"),
        as_flag(reverse1, "reverse1"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def tensor_scalar_reduce(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any = None,
    reverse0: bool = False,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    reduce_init: Any = None,
    reduce_res_negate: bool = False,
    name: str | None = None,
) -> None:
    """
    `dst = data op0 operand0`, folded over all free dimensions into the accumulators.

    `reduce_res` receives the accumulators, negated with `reduce_res_negate`;
    `load_reduce` starts with `reduce_init`.
    """
    api_name = "tensor_scalar_reduce"
    first = as_stage(op0, operand0, reverse0, api_name, ("op0", "operand0"))
    session().tensor_scalar_reduce(
        as_view(data, "data"),
        first.op,
        first.scalar,
        as_alu(reduce_op, api_name, "reduce_op"),
        as_fold(reduce_cmd, reduce_res, reduce_init, reduce_res_negate, "reduce_init"),
        first.reverse,
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def tensor_scalar_cumulative(
    dst: Any,
    src: Any,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    name: str | None = None,
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
        name=as_name(name),
    )


@instruction
def activation_reduce(
    dst: Any,
    op: Any,
    data: Any,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
    name: str | None = None,
) -> None:
    """`dst = op(data * scale + bias)`; `reduce_res` is its sum over each row."""
    session().activation_reduce(
        as_function(op, "activation_reduce"),
        as_view(data, "data"),
        as_alu(reduce_op, "activation_reduce", "reduce_op"),
        as_fold(reduce_cmd.reset_reduce, reduce_res),
        as_optional_operand(bias, "bias"),
        as_operand(scale, "scale"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def select_reduce(
    dst: Any,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    reduce_op: Any = OPS["maximum"],
    reverse_pred: bool = False,
    name: str | None = None,
) -> None:
    """`dst = predicate ? on_true : on_false`, each row's largest folded."""
    session().select_reduce(
        as_view(dst, "dst"),
        as_view(predicate, "predicate"),
        as_view(on_true, "on_true"),
        as_on_false(on_false),
        as_reduce_op(reduce_op, "select_reduce", AluOp.MAX),
        as_fold(reduce_cmd, reduce_res),
        as_flag(reverse_pred, "reverse_pred"),
        name=as_name(name),
    )


def as_on_false(value: Any) -> View | Number:
    """A tile or an fp32 number (penguin.md 7 select_reduce)."""
    found = as_operand(value, "on_false")
    if isinstance(found, int):
        raise NKIValueError(
            f"on_false must be float32 when provided as a scalar, got {found!r}"
        )
    return found


@instruction
def exponential(
    dst: Any,
    src: Any,
    max_value: Any = 0.0,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    reduce_init: Any = 0.0,
    name: str | None = None,
) -> None:
    """
    `dst = exp(src - max_value)`, its rows added up in the accumulators (trn3).

    `load_reduce` starts with `reduce_init`.
    """
    # 0.0 is the default of a call that loads nothing.
    loads = as_reduce_cmd(reduce_cmd).name == "load_reduce"
    unset = not loads and not isinstance(reduce_init, View) and not reduce_init
    session().exponential(
        as_view(dst, "dst"),
        as_view(src, "src"),
        as_operand(max_value, "max_value"),
        as_fold(
            reduce_cmd,
            reduce_res,
            None if unset else reduce_init,
            initial_name="reduce_init",
        ),
        name=as_name(name),
    )


def _stage(op: Any, label: str, scalar: Any) -> AluOp | None:
    """The operation of a stage; a bypass without scalar is none."""
    found = None if op is None else as_alu(op, "activate2", label)
    return None if found is AluOp.BYPASS and scalar is None else found


@instruction
def activate2(
    dst: Any,
    op: Any,
    data: Any,
    imm0: Any,
    imm1: Any,
    op0: Any,
    op1: Any,
    relu_param: Any = 0.0,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    engine: Any = engine.scalar,
    name: str | None = None,
) -> None:
    """
    `dst = op((data op0 imm0) op1 imm1)`, its rows folded by `reduce_op` (trn3).

    An operation may be None. `engine` (0.7) is the scalar engine or, without a fold,
    GpSIMD.
    """
    stages = [
        (
            _stage(alu, label, scalar),
            as_optional_operand(scalar, what),
            as_flag(reverse, f"reverse of {label}"),
        )
        for alu, label, scalar, what, reverse in (
            (op0, "op0", imm0, "imm0", reverse0),
            (op1, "op1", imm1, "imm1", reverse1),
        )
    ]
    session().activate2(
        as_view(dst, "dst"),
        as_function(op, "activate2"),
        as_view(data, "data"),
        stages,
        as_operand(relu_param, "relu_param"),
        as_reduce_op(reduce_op, "activate2", AluOp.ADD),
        as_fold(reduce_cmd, reduce_res),
        name=as_name(name),
        engine=as_activation_engine(engine),
    )
