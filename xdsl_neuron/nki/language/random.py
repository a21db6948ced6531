"""`nl.rand`, `nl.random_seed` and `nl.dropout`: random numbers of the vector engine."""

from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, Engine, Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import (
    as_integer,
    as_mask,
    as_name,
    as_operand,
    as_shape,
    as_view,
)
from xdsl_neuron.nki.dtype import as_dtype, as_optional_dtype
from xdsl_neuron.nki.enums import as_region
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, described
from xdsl_neuron.tracer.views import View


@api
def random_seed(seed: Any, *, mask: Any = None) -> None:
    """
    Seeds the generator with a tile of one 32-bit integer.

    Generation 0.1 takes an integer too; later ones do not (NKI 0.3.0 to 0.6.0 release
    notes, known limitations).
    """
    trace = session()
    if as_mask(mask) is not None:
        raise NKISyntaxError(
            "random_seed takes no mask: an engine has one generator, not one for each "
            "element; seed it in front of the loop"
        )
    if not isinstance(seed, View):
        if not trace.masks_allowed:
            raise NKITypeError(
                f"random_seed takes a (1, 1) tile in sbuf or psum, got "
                f"{described(seed)}; use nl.random_seed(nl.full((1, 1), seed, "
                "dtype=nl.int32))"
            )
        seed = trace.filled((1, 1), as_integer(seed, "seed"), DType.INT32)
    elif seed.space is Space.HBM:
        seed = trace.load(seed)
    trace.set_rng_seed(seed, Engine.DVE)


@api
def rand(
    shape: Any, dtype: Any = "float32", buffer: Any = None, name: Any = None
) -> View:
    """Uniform numbers in [0, 1): the upper 23 bits of a word each (bir.md 10.8)."""
    space = as_region(buffer).space
    if not space.on_chip:
        raise NKISyntaxError("Creating HBM tensor with init value is not supported.")
    trace, extents = session(), as_shape(shape)
    words = trace.new_tile(extents, DType.UINT32)
    trace.rng(words, Engine.DVE)
    top = trace.tensorscalar(words, AluOp.LOGICAL_SHIFT_RIGHT, 9)
    tile = trace.new_tile(extents, as_dtype(dtype), space, name=as_name(name))
    return trace.tensorscalar(top, AluOp.MULT, 2.0**-23, dst=tile)


@api
def dropout(x: Any, rate: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """`x`, but 0 with probability `rate`; what is kept is not scaled."""
    trace, tile, kind = session(), as_view(x, "x"), as_optional_dtype(dtype)
    clip = as_mask(mask)
    found = trace.dropout(tile, as_operand(rate, "rate"), clip)
    if kind is None or kind is tile.element_type:
        return found
    return trace.tensor_copy(found, mask=clip, dtype=kind)
