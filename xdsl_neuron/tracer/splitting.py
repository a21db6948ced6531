"""
Elementwise operations on more dimensions than an access pattern has.

A tile of the functional generation has any rank, the hardware's access patterns a
partition dimension and four free ones. An operation of the language whose operands
need more becomes a rolled loop over its leading free dimensions; an instruction
(`nisa`) is one instruction, so its gate refuses that.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Attribute, Operation

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.compute import fused_rank
from xdsl_neuron.dialects.neuron import EngineAttr
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import Engine, LoopKind, Space
from xdsl_neuron.tracer.conditions import Conditions
from xdsl_neuron.tracer.index import IndexExpr, Mask
from xdsl_neuron.tracer.left_out import keep_mask
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.state import Dep, TraceState
from xdsl_neuron.tracer.views import View

_ELEMENTWISE: Final = frozenset(
    {
        penguin.SBAtomLoadOp,
        penguin.SBAtomStoreOp,
        penguin.TensorTensorOp,
        penguin.TensorScalarPtrOp,
        penguin.ActivationOp,
        penguin.ReciprocalOp,
        penguin.TensorCopyOp,
        penguin.MemsetOp,
        penguin.TensorSelectOp,
    }
)


class SplitEmission(TraceState):
    """Emission of what has too many dimensions for one instruction."""

    splits: bool
    """Whether a call may become more instructions than one."""

    def split_dims(self, kind: type[Instruction], views: Sequence[View | None]) -> int:
        """How many leading free dimensions become loops around an instruction."""
        return _excess(views) if self.splits and kind in _ELEMENTWISE else 0

    def _read_before(self, view: View | None, first: View) -> View | None:
        """An operand, or its copy where it is part of what is written elsewhere."""
        if view is None or view.base is not first.base:
            return view
        if view.same_elements(first) or _is_apart(view, first):
            return view
        tile = view.of(self.create_tensor(view.shape, view.element_type, Space.SBUF))
        properties: dict[str, Attribute] = {"engine": EngineAttr(Engine.UNASSIGNED)}
        self.emit(penguin.TensorCopyOp, [tile, view], properties)
        return tile

    def emit(
        self,
        kind: type[Instruction],
        views: Sequence[View | None],
        properties: dict[str, Attribute],
        *,
        mask: Mask | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        location: FileLineColLoc | None = None,
        before: Operation | None = None,
    ) -> str:
        """Inserts an instruction on views, or a loop of them."""
        extra = 0 if before is not None else self.split_dims(kind, views)
        if not extra:
            return super().emit(
                kind,
                views,
                properties,
                mask=mask,
                name=name,
                deps=deps,
                location=location,
                before=before,
            )
        first = views[0]
        assert first is not None
        fresh = not first.base.written
        location = location or self.locator.here()
        # An iteration would read what another one has written.
        views = [first, *(self._read_before(view, first) for view in views[1:])]
        with ExitStack() as nest:
            index: list[IndexExpr] = []
            for extent in first.shape[1 : 1 + extra]:
                loop = nest.enter_context(
                    self.scope(LoopKind.PARALLEL, range(extent), location=location)
                )
                index.append(IndexExpr(Affine.index(loop.number)))
            given = super().emit(
                kind,
                [None if view is None else _part(view, first, index) for view in views],
                properties,
                mask=None if mask is None else _part_of_mask(mask, first, index),
                name=name,
                deps=deps,
                location=location,
            )
        keep_mask(first, mask if fresh else None)
        self.last = None
        return given


def _is_apart(view: View, first: View) -> bool:
    """Whether two views of one tile share no element, as far as is known."""
    accesses = view.access(), first.access()
    if view.element_type is not first.element_type:
        return False
    pitch = view.base.type.data.bytes_per_partition // view.element_type.bytes
    patterns: list[Pattern] = []
    for access in accesses:
        if access is None or access.positions:
            return False
        patterns.append(access.flat(pitch))
    return not patterns[0].overlaps(patterns[1])


def _excess(views: Sequence[View | None]) -> int:
    """How many leading free dimensions have to go for each view to be one access."""
    first = views[0]
    if first is None:
        return 0
    extra = 0
    for view in views:
        if view is None or view.ndim != first.ndim or view.has_index:
            continue
        free = view.layout.pairs[1:]
        while fused_rank(free[extra:]) > Arch.max_free_dims:
            extra += 1
    return extra


def _part(view: View, first: View, index: Sequence[IndexExpr]) -> View:
    """A view at one iteration; an operand of another rank has no such dimensions."""
    if view.ndim != first.ndim:
        return view
    chosen = [
        0 if extent == 1 else at
        for at, extent in zip(index, view.shape[1:], strict=False)
    ]
    return subscript(view, (slice(None), *chosen))


def _part_of_mask(mask: Mask, first: View, index: Sequence[IndexExpr]) -> Mask:
    """A mask over what is left of the dimensions at one iteration."""
    shape, extra = first.shape, len(index)
    places = [
        Affine.lane(0),
        *(at.expr for at in index),
        *(Affine.lane(dim) for dim in range(1, len(shape) - extra)),
    ]
    rest = (shape[0], *shape[1 + extra :])
    found = Conditions(tuple(mask.over(shape))).through(places, "a part")
    return Mask(found.masks, rest)
