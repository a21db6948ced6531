"""Data movement instructions (nki.md 1.1 `dma_copy`, `dma_compute`)."""

from collections.abc import Sequence
from typing import Any

from xdsl_neuron.isa import AluOp, DgeType, Engine, OobMode, QosClass
from xdsl_neuron.nki.arguments import (
    as_axes,
    as_name,
    as_number,
    as_view,
    is_sequence,
)
from xdsl_neuron.nki.enums import as_dge, as_engine, as_oob, dge_mode, engine, oob_mode
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.ops import Op, as_alu
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.dma import validate_dma_qos
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import is_integer
from xdsl_neuron.tracer.views import View

_PRIORITIES = (QosClass.P0, QosClass.P1, QosClass.P2, QosClass.P3)


@instruction
def dma_copy(
    dst: Any,
    src: Any,
    priority: Any = None,
    oob_mode: Any = oob_mode.error,
    dge_mode: Any = dge_mode.unknown,
    engine: Any = engine.unknown,
    name: str | None = None,
    *,
    dst_rmw_op: Any = None,
    unique_indices: bool = True,
) -> None:
    """
    Copies any pattern of HBM or SBUF, cast through fp32 where the types differ.

    One side may be indirect (`.ap(vector_offset=...)`). `engine` triggers the copy. Of
    release 0.2 is `dst_rmw_op=nl.add`, also in the third place, which adds to the
    destination, and `unique_indices`, a promise that is not used.
    """
    if isinstance(priority, Op):
        dst_rmw_op, priority = priority, None
    dge = as_dge(dge_mode)
    trigger = as_engine(engine)
    if trigger is not Engine.UNASSIGNED and dge is not DgeType.HWDGE:
        raise NKIValueError(
            "dma_copy engine can only be specified when HWDGE mode is used."
        )
    session().dma_copy(
        as_view(src, "src"),
        as_view(dst, "dst"),
        rmw_op=None if dst_rmw_op is None else as_alu(dst_rmw_op, "dma_copy"),
        oob_mode=as_oob(oob_mode),
        dge_mode=dge,
        dma_qos=as_qos(priority),
        name=as_name(name),
        engine=trigger,
    )


def as_qos(priority: Any) -> QosClass | None:
    """
    The quality-of-service class of a DMA's priority: 0 is P0, up to 3.

    Our choice: the reference names the argument and not its values.
    """
    if priority is None:
        return None
    if is_integer(priority) and 0 <= int(priority) < len(_PRIORITIES):
        return _PRIORITIES[int(priority)]
    return validate_dma_qos(priority).data


@instruction
def dma_transpose(
    dst: Any,
    src: Any,
    axes: Any = None,
    priority: Any = None,
    dge_mode: Any = dge_mode.unknown,
    oob_mode: Any = oob_mode.error,
    name: str | None = None,
) -> None:
    """
    `dst = permute(src, axes)` in the DMA engines; rows of `src` may be gathered.

    Rank 2 has axes (1, 0), 3 (2, 1, 0), 4 (3, 1, 2, 0).
    """
    session().dma_transpose(
        as_view(src, "src"),
        None if axes is None else as_axes(axes, "axes"),
        dst=as_view(dst, "dst"),
        dge_mode=as_dge(dge_mode),
        oob_mode=as_oob(oob_mode),
        dma_qos=as_qos(priority),
        name=as_name(name),
    )


@instruction
def dma_compute(
    dst: Any,
    srcs: Any,
    reduce_op: Any = None,
    scales: Any = None,
    unique_indices: bool = True,
    oob_mode: Any = oob_mode.error,
    name: str | None = None,
) -> None:
    """
    `dst` = the sum of up to 16 tensors, in fp32 and cast once, by the DMA engines.

    Rows of one tensor may be picked by an index (`.ap(vector_offset=...)`): of `dst`,
    which is a source too and is added to, or of a source that is added to `dst`.
    """
    if is_sequence(reduce_op):
        reduce_op, scales = scales, reduce_op  # 0.2 has scales first
    if reduce_op is not None and as_alu(reduce_op, "dma_compute") is not AluOp.ADD:
        raise NKIValueError(
            "dma_compute currently only supports nl.add as its reduce op!"
        )
    if not is_sequence(srcs):
        raise NKITypeError("`srcs` of dma_compute must be a list of tensors")
    target, sources = as_view(dst, "dst"), [as_view(src, "srcs") for src in srcs]
    _check_sources(target, sources, scales, unique_indices)
    _sum(target, sources, as_oob(oob_mode), as_name(name))


def _check_sources(
    target: View, sources: Sequence[View], scales: Any, unique_indices: bool
) -> None:
    if scales is not None and not is_sequence(scales):
        raise NKITypeError("`scales` of dma_compute must be a list of numbers")
    if scales is not None:
        factors = [as_number(scale, "scales") for scale in scales]
        if len(factors) != len(sources):
            raise NKIValueError(
                "srcs and scales must have the same length, "
                f"len(srcs)={len(sources)}, len(scales)={len(factors)}"
            )
        if any(factor != 1.0 for factor in factors):
            raise NKIValueError(
                f"dma_compute: all values in `scales` must be 1.0, got {factors}; "
                "scale the source on an engine first (nisa.tensor_scalar)"
            )
    picked = [view for view in (target, *sources) if view.has_index]
    if not picked:
        return
    if len(sources) != 2:
        raise NKIValueError(
            "dma_compute with a vector_offset takes exactly two sources, got "
            f"{len(sources)}"
        )
    if not unique_indices:
        raise NKIValueError(
            "dma_compute with a vector_offset needs unique_indices=True: indices that "
            "are not unique are not supported"
        )
    if sum(_same_rows(source, target) for source in sources) != 1:
        raise NKIValueError(
            "dma_compute with a vector_offset adds one source to `dst`, which must be "
            "the other one of `srcs`"
        )


def _sum(target: View, sources: Sequence[View], oob: OobMode, name: str | None) -> None:
    trace = session()
    others = [source for source in sources if not _same_rows(source, target)]
    if not any(view.has_index for view in (target, *sources)):
        trace.dma_fold(target, sources, name=name)
        return
    (source,) = others
    if source.has_index:
        source = _gathered(source, target, oob)
        oob = oob if target.has_index else OobMode.ERROR
    trace.dma_copy(source, target, rmw_op=AluOp.ADD, oob_mode=oob, name=name)


def _gathered(source: View, target: View, oob: OobMode) -> View:
    """Rows of a source that an index picks, -0 (which adds nothing) for the others."""
    trace = session()
    tile = trace.new_tile(target.shape, source.element_type)
    if oob is OobMode.SKIP:
        trace.memset(value=-0.0, dst_tile=tile)
    trace.dma_copy(source, tile, oob_mode=oob)
    return tile


def _same_rows(a: View, b: View) -> bool:
    """Whether two views name the same elements, rows picked by the same index tile."""
    left, right = a.layout.gather, b.layout.gather
    if left is None or right is None:
        return left is right and a.same_elements(b)
    return (
        a.base is b.base
        and (a.layout.pairs, a.layout.offset) == (b.layout.pairs, b.layout.offset)
        and left.index.same_elements(right.index)
    )
