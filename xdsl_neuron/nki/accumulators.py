"""What a kernel asks of an engine's accumulators, and values instructions fix."""

from typing import Any, Final

from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.arguments import as_number, as_view
from xdsl_neuron.nki.enums import as_reduce_cmd, reduce_cmd
from xdsl_neuron.nki.ops import as_alu
from xdsl_neuron.numerics.selection import FP32_MIN
from xdsl_neuron.tracer.errors import NKINotImplementedError, NKIValueError
from xdsl_neuron.tracer.index import is_integer
from xdsl_neuron.tracer.views import View

_HALF_STEP: Final = 1e31
"""Numbers nearer than this are the same fp32."""


def reduced(api: str, command: Any, result: Any) -> View | None:
    """
    Where a row's fold goes, None where nobody reads it.

    The accumulators of an engine are no tensors here: a fold starts and ends in one
    instruction.
    """
    asked = as_reduce_cmd(command)
    if asked not in (reduce_cmd.idle, reduce_cmd.reset_reduce):
        raise NKINotImplementedError(
            f"{api} with reduce_cmd.{asked.name} is not supported: what accumulators "
            "hold between instructions is not modelled; use reset_reduce and add the "
            "results"
        )
    if result is None:
        return None
    if asked is reduce_cmd.idle:
        raise NKINotImplementedError(
            f"{api} with reduce_res and reduce_cmd.idle is not supported: it would "
            "tell what earlier instructions left; use reduce_cmd.reset_reduce"
        )
    return as_view(result, "reduce_res")


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
