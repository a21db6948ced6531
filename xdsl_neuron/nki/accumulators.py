"""What a kernel asks of an engine's accumulators, and values instructions fix."""

from typing import Any, Final

from xdsl_neuron.dialects.instructions.accumulators import REDUCE_COMMANDS
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.arguments import as_flag, as_number, as_operand, as_view
from xdsl_neuron.nki.enums import as_reduce_cmd, reduce_cmd
from xdsl_neuron.nki.ops import as_alu
from xdsl_neuron.numerics.selection import FP32_MIN
from xdsl_neuron.tracer.accumulators import Fold
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.index import is_integer

_HALF_STEP: Final = 1e31
"""Numbers nearer than this are the same fp32."""


def as_fold(
    command: Any,
    result: Any = None,
    initial: Any = None,
    negate: Any = False,
    initial_name: str | None = None,
) -> Fold:
    """
    `reduce_cmd`, `reduce_res`, the initial value and `reduce_res_negate` of a call.

    `initial_name` is what the call names the initial value, None where it takes none.
    """
    asked = as_reduce_cmd(command)
    loads = asked is reduce_cmd.load_reduce
    if loads and initial is None and initial_name is not None:
        raise NKIValueError(
            f"reduce_cmd.load_reduce starts with a value: give {initial_name}, or use "
            "reduce_cmd.reset_reduce"
        )
    return Fold(
        REDUCE_COMMANDS[asked.name],
        None if result is None else as_view(result, "reduce_res"),
        None if initial is None else as_operand(initial, initial_name or "reduce_init"),
        as_flag(negate, "negate"),
    )


def as_cumulative(imm1: Any, command: Any) -> Fold:
    """
    What a tensor_scalar_cumulative starts with: imm1 with load_reduce.

    A call that continues a chain may give the imm1 of the chain's first call again, as
    the public documentation's example does; the accumulators go on from what they hold.
    """
    asked = as_reduce_cmd(command)
    if asked is reduce_cmd.reset_reduce and imm1 is not None:
        raise NKIValueError(
            "tensor_scalar_cumulative takes imm1 only with reduce_cmd.load_reduce"
        )
    initial = None if asked is reduce_cmd.reduce else imm1
    return as_fold(asked, initial=initial, initial_name="imm1")


def as_reduce_op(value: Any, api: str, default: AluOp) -> AluOp:
    """The operation of a row's fold."""
    return default if value is None else as_alu(value, api, "reduce_op")


def as_range_start(value: Any) -> int:
    """The first column of a range select: an integer, 0.2 writes 0.0."""
    number = as_number(value, "range_start")
    if not is_integer(number) and not float(number).is_integer():
        raise NKIValueError(f"`range_start` must be an integer, got {number}")
    return int(number)


def check_fp32_min(value: Any) -> None:
    """The only value that a range select puts where it does not select."""
    number = as_number(value, "on_false_value")
    if abs(number - FP32_MIN) > _HALF_STEP:
        raise NKIValueError(
            f"range_select on_false_value must be {FP32_MIN} (the smallest float32), "
            f"got {number}"
        )
