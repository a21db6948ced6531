"""DMA descriptors: the transfers of `dma.block`s, whose accesses count bytes."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects import dma
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.isa import AluOp
from xdsl_neuron.machine.indirect import Gather, Scatter
from xdsl_neuron.machine.sides import Side
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.machine.transfer import Folded, Replicated, Transfer
from xdsl_neuron.machine.transposes import GatherTranspose, Permuted


def _side(site: Site, scope: Scope, operand: Operand) -> Side:
    """A side whose access is in bytes, of elements of the descriptor's type."""
    op = site.op
    assert isinstance(op, dma.Descriptor)
    slot = scope.slots.get(operand.value)
    if slot is None:
        raise site.refuse(f"operand '{operand.name}' is not a tensor of this function")
    dtype = op.element_type(operand.name)
    return Side(operand, slot, site.depths, scope.ranges, dtype=dtype, in_bytes=True)


class _Copy(Transfer):
    def make_side(self, scope: Scope, operand: Operand) -> Side:
        return _side(self, scope, operand)


class _Replicate(Replicated):
    def make_side(self, scope: Scope, operand: Operand) -> Side:
        return _side(self, scope, operand)


class _Fold(Folded):
    def make_side(self, scope: Scope, operand: Operand) -> Side:
        return _side(self, scope, operand)


class _Gather(Gather):
    def make_side(self, scope: Scope, operand: Operand) -> Side:
        if operand.name == "index":
            return super().make_side(scope, operand)
        return _side(self, scope, operand)


class _Scatter(Scatter):
    def make_side(self, scope: Scope, operand: Operand) -> Side:
        if operand.name == "index":
            return super().make_side(scope, operand)
        return _side(self, scope, operand)


class _Transpose(Permuted):
    def make_side(self, scope: Scope, operand: Operand) -> Side:
        return _side(self, scope, operand)


class _GatherTranspose(GatherTranspose):
    def make_side(self, scope: Scope, operand: Operand) -> Side:
        if operand.name == "index":
            return super().make_side(scope, operand)
        return _side(self, scope, operand)


def _copy(scope: Scope, op: dma.CopyOp) -> Emitter:
    return _Copy(scope, op).emit


def _cce(scope: Scope, op: dma.CceOp) -> Emitter:
    return _Copy(scope, op, accumulate=True).emit


def _replicate(scope: Scope, op: dma.ReplicateOp) -> Emitter:
    return _Replicate(scope, op).emit


def _fold(scope: Scope, op: dma.FoldOp) -> Emitter:
    return _Fold(scope, op).emit


def _gather(scope: Scope, op: dma.GatherOp) -> Emitter:
    return _Gather(scope, op, op.limit, op.oob.data).emit


def _transpose(scope: Scope, op: dma.TransposeOp) -> Emitter:
    return _Transpose(scope, op, op.permutation()).emit


def _gather_transpose(scope: Scope, op: dma.GatherTransposeOp) -> Emitter:
    oob = op.oob.data
    return _GatherTranspose(scope, op, op.limit, oob, op.permutation()).emit


def _scatter(scope: Scope, op: dma.ScatterOp) -> Emitter:
    return _Scatter(scope, op, op.limit, op.oob.data, op.op.data is AluOp.ADD).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    dma.CopyOp: _copy,
    dma.CceOp: _cce,
    dma.ReplicateOp: _replicate,
    dma.FoldOp: _fold,
    dma.GatherOp: _gather,
    dma.ScatterOp: _scatter,
    dma.TransposeOp: _transpose,
    dma.GatherTransposeOp: _gather_transpose,
}
