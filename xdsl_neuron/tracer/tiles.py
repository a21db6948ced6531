"""What builders share: fresh tiles, fills, and operands of one shape."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from xdsl.ir import Attribute, Block, Operation

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import EngineAttr, ImmediateAttr, TensorType
from xdsl_neuron.dialects.neuron.constant import Contents
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, Space
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.index import Mask, Shape, broadcast_tiles
from xdsl_neuron.tracer.layouts import Buffer, Layout
from xdsl_neuron.tracer.options import NO_OPTIONS, TraceOptions
from xdsl_neuron.tracer.splitting import SplitEmission
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.views import View

Number: TypeAlias = int | float
"""A Python number; bools count as 0 and 1."""

ENGINES: Final = {member: EngineAttr(member) for member in Engine}


def immediate(value: Number) -> ImmediateAttr:
    """A number as an instruction carries it."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise NKIValueError(f"the number {value} does not fit into 64 bits")
    return ImmediateAttr.of(int(value) if isinstance(value, bool) else value)


def without_unit_dims(value: View, shape: Shape) -> View:
    """
    A value of a tensor of fewer dimensions, seen in that shape.

    An integer index takes a dimension away (`tile[:, 0] = sums`, of shape (P, 1)); a
    value may keep it. One that differs otherwise comes back as it is.
    """
    free = [extent for extent in value.shape[1:] if extent != 1]
    wanted = [extent for extent in shape[1:] if extent != 1]
    if value.ndim <= len(shape) or value.shape[:1] != shape[:1] or free != wanted:
        return value
    return value.reshaped(shape)


class TileBuilders(SplitEmission):
    """
    Fresh tiles and the normalisation of operands.

    `view` is the class of the views the language hands to kernels.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[tuple[str, TensorType]],
        arch: Arch,
        masks_allowed: bool,
        view: type[View],
        options: TraceOptions = NO_OPTIONS,
    ) -> None:
        super().__init__(name, arguments, arch, masks_allowed, options)
        self.view = view
        # Only a language of whole tiles leaves it to the compiler how to cut them.
        self.splits = masks_allowed
        self._constants: dict[tuple[Contents, TensorType], Buffer] = {}
        self._identities: dict[DType, Buffer] = {}
        self.random_states: dict[Engine, Buffer] = {}
        self.runtime_loops: int = 0
        """How many run-time loops are open, and have been made."""
        self.runtime_loops_made: int = 0
        self._front: Operation | Block | None = None

    def new_tile(
        self,
        shape: Sequence[int],
        dtype: DType,
        space: Space = Space.SBUF,
        *,
        init: Number | None = None,
        name: str | None = None,
    ) -> View:
        """A fresh tile, allocated where the trace is."""
        return self.view.of(self.create_tensor(shape, dtype, space, name, init=init))

    def filled(self, shape: Sequence[int], value: Number, dtype: DType) -> View:
        """A fresh tile with every element `value`."""
        tile = self.new_tile(shape, dtype)
        self.memset(value=value, dst_tile=tile)
        return tile

    def memset(
        self,
        tile_shape: Sequence[int] | None = None,
        value: Number = 0,
        dtype: DType | None = None,
        mask: Mask | None = None,
        dst_tile: View | None = None,
        schedule: object = None,
        engine: Engine = Engine.UNASSIGNED,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """Fills `dst_tile`, or a fresh tile of that shape and type."""
        if dst_tile is None:
            if tile_shape is None or dtype is None:
                raise NKISyntaxError("memset needs a shape and a dtype, or a tile")
            dst_tile = self.new_tile(tile_shape, dtype)
        properties: dict[str, Attribute] = {
            "value": immediate(value),
            "engine": ENGINES[engine],
        }
        self.emit(
            penguin.MemsetOp, [dst_tile], properties, mask=mask, name=name, deps=deps
        )
        return dst_tile

    def tensor_copy(
        self,
        src: View,
        dst: View | None = None,
        mask: Mask | None = None,
        dtype: DType | None = None,
        engine: Engine = Engine.UNASSIGNED,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """Copies on chip into `dst` or a fresh SBUF tile, cast where types differ."""
        if dst is None:
            dst = self.new_tile(src.shape, dtype or src.element_type)
        self.emit(
            penguin.TensorCopyOp,
            [dst, src],
            {"engine": ENGINES[engine]},
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def broadcast(self, tile: View, shape: Shape) -> View:
        """
        A tile repeated to `shape`.

        Free dimensions repeat by a step of 0. One partition read by many is copied
        first (penguin.md 6.1 broadcast_partition).
        """
        if tile.shape == shape:
            return tile
        tile.check_broadcast(shape)
        rank = len(shape)
        if tile.ndim < rank and tile.layout.par >= 0:
            tile = self._padded(tile, rank)
        if tile.layout.par < 0 or tile.shape[0] == shape[0]:
            return tile.expanded(shape)
        return self.broadcast_partition(tile, shape[0]).expanded(shape)

    def _padded(self, tile: View, rank: int) -> View:
        """Free dimensions of extent 1 behind the partition dimension."""
        a = tile.layout
        missing = ((1, 1),) * (rank - tile.ndim)
        return tile.with_dims((a.pairs[0], *missing, *a.pairs[1:]), "broadcast")

    def broadcast_partition(
        self,
        tensor: View,
        partitions: int,
        mask: Mask | None = None,
        dtype: DType | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
    ) -> View:
        """
        Copies one partition to `partitions` of a fresh tile.

        A unary whose source steps by 0 over partitions (penguin.md 1.1). Engines
        start only at a quadrant; from elsewhere a DMA within SBUF does the same.
        """
        start = tensor.layout.partition
        at_quadrant = isinstance(start, int) and not start % Arch.quadrant_partitions
        if tensor.space is Space.PSUM and not at_quadrant:
            tensor = self.tensor_copy(tensor)
        tensor.must_be_plain("broadcast")
        a = tensor.layout
        shape = (partitions, *tensor.shape[1:])
        repeated = tensor.with_layout(
            Layout(((0, partitions), *a.pairs[1:]), 0, a.partition, a.offset, a.dtype)
        )
        dst = self.new_tile(shape, dtype or tensor.element_type)
        kind = penguin.TensorCopyOp if at_quadrant else penguin.DMACopyOp
        self.emit(kind, [dst, repeated], {}, mask=mask, name=name, deps=deps)
        return dst

    def combine_tiles(self, *operands: View | Number) -> list[View]:
        """
        The operands as tiles of one shape (penguin.md 6.0).

        Shapes are broadcast, numbers become fills of the first tile's type. A tile in
        HBM or picked by an index tile is refused.
        """
        tiles = [operand for operand in operands if isinstance(operand, View)]
        if not tiles:
            raise NKISyntaxError("expected at least one tile among the operands")
        for tile in tiles:
            if tile.has_index:
                raise NKISyntaxError(
                    "cannot use indirect indexing access with the current NKI API for "
                    f"'{tile.name}'; load it first"
                )
        shape = broadcast_tiles(*(tile.shape for tile in tiles))
        dtype = tiles[0].element_type
        return [
            self.broadcast(operand, shape)
            if isinstance(operand, View)
            else self.filled(shape, operand, dtype)
            for operand in operands
        ]
