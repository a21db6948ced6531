"""
Buffers of a trace, and where in one a view's elements are.

`tracer.views` makes layouts of layouts; here is what they consist of.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Block, SSAValue

from xdsl_neuron.dialects.neuron import Pair, TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.tracer.conditions import Bound, Conditions
from xdsl_neuron.tracer.index import Expr

if TYPE_CHECKING:
    from xdsl_neuron.tracer.index import Mask
    from xdsl_neuron.tracer.state import TraceState
    from xdsl_neuron.tracer.views import View


@dataclass(eq=False, slots=True, weakref_slot=True)
class Buffer:
    """
    A tensor of the trace: an argument or the result of an allocation.

    `block` is where it is defined; it may be used in that block and in loops inside.
    """

    value: SSAValue
    type: TensorType
    name: str
    block: Block
    trace: "TraceState"
    written: bool = False
    writer: str | None = None
    """Name of the last instruction that wrote it."""
    mask: "Mask | None" = None
    """The mask of its only write, where that left elements out."""
    immutable: bool = False
    """Whether the language forbids to write it."""
    region: str | None = None
    """What the language calls its memory, where that says more than the space."""
    truth: bool = False
    """Whether its bytes are truth values, the language's bool."""


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """Dimension 0 of a view is picked by an index tile; indices are below `limit`."""

    index: "View"
    limit: int


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The free dimension of a view is picked by offsets below `extent` (trn3)."""

    index: "View"
    extent: int


@dataclass(frozen=True, slots=True)
class DynamicSlice:
    """`nl.ds(start, size)`."""

    start: Expr
    size: int


@dataclass(eq=False, slots=True)
class Layout:
    """
    Where a view's elements are.

    `par` is the dimension that runs along partitions, -1 in HBM. `offset` is in
    elements of `dtype`, from the start of the tensor or of each partition.
    """

    pairs: tuple[Pair, ...]
    par: int
    partition: Expr
    offset: Expr
    dtype: DType
    masks: tuple[Affine, ...] = ()
    bounds: tuple[Bound, ...] = ()
    gather: Gather | None = None
    columns: Columns | None = None

    @property
    def conditions(self) -> Conditions:
        """The masks and open index ranges."""
        return Conditions(self.masks, self.bounds)

    @property
    def reached(self) -> tuple[Pair, ...]:
        """What may be touched: all columns where an index picks among them."""
        if self.columns is None:
            return self.pairs
        return (self.pairs[0], (1, self.columns.extent))
