"""Functions of tiles that have no instruction of their own: rounding, the tangent."""

from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_mask, as_view
from xdsl_neuron.nki.dtype import as_optional_dtype
from xdsl_neuron.nki.elementwise import sine
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.views import View

_QUARTER = 1.5707963267948966


def _down(tile: View, dtype: Any, mask: Any, sign: float = 1.0) -> View:
    """sign * floor(sign * x): what is left of x by its remainder of 1 (exact)."""
    trace, clip = session(), as_mask(mask)
    kind = as_optional_dtype(dtype) or tile.element_type
    turned = tile
    if sign != 1.0:
        turned = trace.tensorscalar(
            tile, AluOp.MULT, sign, mask=clip, dtype=DType.FLOAT32
        )
    part = trace.tensorscalar(turned, AluOp.MOD, 1.0, mask=clip, dtype=DType.FLOAT32)
    whole = trace.tensortensor(AluOp.SUBTRACT, turned, part, clip, DType.FLOAT32)
    if sign == 1.0 and kind is DType.FLOAT32:
        return whole
    return trace.tensorscalar(whole, AluOp.MULT, sign, mask=clip, dtype=kind)


@api
def floor(x: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """The largest integer that is not above x."""
    return _down(as_view(x, "x"), dtype, mask)


@api
def ceil(x: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """The smallest integer that is not below x."""
    return _down(as_view(x, "x"), dtype, mask, -1.0)


@api
def trunc(x: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """x without its fraction: max(floor(x), 0) + min(ceil(x), 0)."""
    trace, tile, clip = session(), as_view(x, "x"), as_mask(mask)
    kind = as_optional_dtype(dtype) or tile.element_type
    low = _down(tile, DType.FLOAT32, mask)
    high = _down(tile, DType.FLOAT32, mask, -1.0)
    low = trace.tensorscalar(low, AluOp.MAX, 0.0, mask=clip)
    high = trace.tensorscalar(high, AluOp.MIN, 0.0, mask=clip)
    return trace.tensortensor(AluOp.ADD, low, high, clip, kind)


@api
def tan(x: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """sin(x) / cos(x), both in fp32."""
    trace, tile, clip = session(), as_view(x, "x"), as_mask(mask)
    kind = as_optional_dtype(dtype) or tile.element_type
    upper = sine(tile, DType.FLOAT32, clip)
    lower = sine(tile, DType.FLOAT32, clip, _QUARTER)
    inverse = trace.reciprocal(lower, clip)
    return trace.tensortensor(AluOp.MULT, upper, inverse, clip, kind)
