"""Copies on chip whose source or destination begins where a tile's element says."""

from typing import Any

from xdsl_neuron.arch import TRN1
from xdsl_neuron.isa import Engine
from xdsl_neuron.nki.api import one_instruction
from xdsl_neuron.nki.arguments import as_mask, as_view, hidden_options
from xdsl_neuron.nki.dtype import as_optional_dtype
from xdsl_neuron.nki.enums import as_engine, engine
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.views import View

_UNKNOWN = engine.unknown


@one_instruction
def tensor_copy_dynamic_src(
    src: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    engine: Any = _UNKNOWN,
    **hidden: Any,
) -> View:
    """
    A copy of a tile whose offset along a free dimension is known while running.

    The offset is one 32-bit integer in SBUF, added to an index:
    `tile[i_p, offsets[0, k] + i_f]`.
    """
    return session().tensor_copy(
        as_view(src, "src"),
        mask=as_mask(mask),
        dtype=as_optional_dtype(dtype),
        engine=_engine("tensor_copy_dynamic_src", engine),
        **hidden_options("tensor_copy_dynamic_src", hidden),
    )


@one_instruction
def tensor_copy_dynamic_dst(
    *,
    dst: Any,
    src: Any,
    mask: Any = None,
    dtype: Any = None,
    engine: Any = _UNKNOWN,
    **hidden: Any,
) -> None:
    """Copies `src` to where an offset known while running says, as above."""
    target = as_view(dst, "dst")
    check_result_type("tensor_copy_dynamic_dst", dtype, target)
    session().tensor_copy(
        as_view(src, "src"),
        target,
        as_mask(mask),
        engine=_engine("tensor_copy_dynamic_dst", engine),
        **hidden_options("tensor_copy_dynamic_dst", hidden),
    )


def check_result_type(api_name: str, dtype: Any, dst: View) -> None:
    """Refuses a result type that a destination given by the kernel does not have."""
    kind = as_optional_dtype(dtype)
    if kind is not None and kind is not dst.element_type:
        raise NKIValueError(
            f"{api_name}: `dtype` is {kind.nki_name}, but `dst` is {dst!r}; the "
            "destination's type is the result's"
        )


def _engine(what: str, asked: Any) -> Engine:
    found = as_engine(asked)
    if found is Engine.ACTIVATION and session().arch is TRN1:
        raise NKIValueError(f"{what} is not supported on trn1 Scalar Engine.")
    return found
