"""Builders for the tensor engine (penguin.md 6.2)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import FileLineColLoc, UnitAttr
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import MatmulAccumulateAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, MatmulAccumulate, Space
from xdsl_neuron.tracer.index import Mask
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import ENGINES, TileBuilders
from xdsl_neuron.tracer.views import View

ACCUMULATE = {member: MatmulAccumulateAttr(member) for member in MatmulAccumulate}


class MatrixBuilders(TileBuilders):
    """Matmul and transpose."""

    def in_sbuf(self, tile: View) -> View:
        """A tile the tensor engine can read: one in PSUM is copied."""
        return self.tensor_copy(tile) if tile.space is Space.PSUM else tile

    def matmul_operands(self, x: View, y: View, transpose_x: bool) -> tuple[View, View]:
        """What `nl.matmul` gives the tensor engine: x transposed, both in SBUF."""
        x = self.in_sbuf(x)
        if not transpose_x:
            x = self.in_sbuf(self.transpose(x, engine=Engine.PE))
        return x, self.in_sbuf(y)

    def matmult(
        self,
        stationary: View,
        moving: View,
        psum: View | None = None,
        *,
        accumulate: MatmulAccumulate = MatmulAccumulate.AUTO,
        is_stationary_onezero: bool = False,
        is_moving_onezero: bool = False,
        mask: Mask | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        location: FileLineColLoc | None = None,
    ) -> View:
        """`psum = stationary.T @ moving`, or added to it as `accumulate` says."""
        if psum is None:
            shape = (*stationary.shape[1:], *moving.shape[1:])
            psum = self.view.of(
                self.create_tensor(shape, DType.FLOAT32, Space.PSUM, location=location)
            )
        properties: dict[str, Attribute] = {"accumulate": ACCUMULATE[accumulate]}
        if is_stationary_onezero:
            properties["stationary_onezero"] = UnitAttr()
        if is_moving_onezero:
            properties["moving_onezero"] = UnitAttr()
        self.emit(
            penguin.MatMulOp,
            [psum, stationary, moving],
            properties,
            mask=mask,
            name=name,
            deps=deps,
            location=location,
        )
        return psum

    def transpose(
        self,
        tensor: View,
        dst: View | None = None,
        dtype: DType | None = None,
        engine: Engine = Engine.UNASSIGNED,
        mask: Mask | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
    ) -> View:
        """
        Swaps partitions and the free dimension of a two-dimensional tile.

        Without `dst`: the tensor engine writes a PSUM tile, the vector engine an SBUF
        tile; an open engine is the tensor engine.
        """
        if dst is None:
            space = Space.SBUF if engine is Engine.DVE else Space.PSUM
            columns = tensor.size // tensor.shape[0]
            dst = self.new_tile(
                (columns, tensor.shape[0]), dtype or tensor.element_type, space
            )
        self.emit(
            penguin.TransposeOp,
            [dst, tensor],
            {"engine": ENGINES[engine]},
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst
