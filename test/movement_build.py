"""Kernels of random steps, made of the builder's methods for memory and DMA."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np
from random_steps import NUMPY, TRIPS, Access, Index, Plan, Predicate, Step, Tensor
from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.arch import TRN2
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, LoopKind, OobMode, Space
from xdsl_neuron.tracer.codegen import NeuronCodegen
from xdsl_neuron.tracer.context import tracing
from xdsl_neuron.tracer.index import Expr, Mask
from xdsl_neuron.tracer.layouts import Buffer, Gather, Layout
from xdsl_neuron.tracer.options import NO_OPTIONS, TraceOptions
from xdsl_neuron.tracer.views import View


class Kernel:
    """The trace of a plan."""

    def __init__(self, plan: Plan, options: TraceOptions = NO_OPTIONS) -> None:
        self.plan = plan
        inputs = [(t.name, _type(t, Space.HBM)) for t in plan.inputs()]
        self.trace = NeuronCodegen("k", inputs, TRN2, True, View, options)
        self.buffers: dict[str, Buffer] = {
            tensor.name: buffer
            for tensor, buffer in zip(plan.inputs(), self.trace.arguments, strict=True)
        }
        self.loop: Affine | None = None

    def module(self) -> ModuleOp:
        """The module; it returns every tile."""
        trace, outputs = self.trace, list[tuple[str, Buffer]]()
        with tracing(trace):
            for tile in self.plan.tiles():
                space = Space.PSUM if tile.psum else Space.SBUF
                buffer = trace.create_tensor(tile.shape, tile.dtype, space)
                trace.memset(value=tile.fill, dst_tile=View.of(buffer))
                self.buffers[tile.name] = buffer
            for step in self.plan.steps:
                with self._around(step):
                    build: Callable[[Step], None] = getattr(self, step.kind)
                    build(step)
            for tile in self.plan.tiles():
                buffer = trace.create_tensor(tile.shape, tile.dtype, Space.HBM)
                trace.store(View.of(buffer), View.of(self.buffers[tile.name]))
                outputs.append((f"out_{tile.name}", buffer))
            return trace.finish(outputs)

    @contextmanager
    def _around(self, step: Step) -> Generator[None]:
        if not step.loops:
            yield
            return
        with self.trace.scope(LoopKind.SEQUENTIAL, range(TRIPS)) as loop:
            self.loop = Affine.index(loop.number)
            yield
        self.loop = None

    # -- operands --------------------------------------------------------------------

    def view(self, access: Access | None, index: Index | None = None) -> View:
        """An access as a view; with `index` its rows are picked."""
        assert access is not None
        tensor, base = access.tensor, self.buffers[access.tensor.name]
        offset: Expr = access.offset
        if self.loop is not None and access.move:
            offset = self.loop * access.move + offset
        gather = None
        if index is not None:
            rows = self.trace.load(View.of(self.buffers[index.tensor.name]))
            gather = Gather(rows, index.limit)
        par = 0 if tensor.on_chip else -1
        start = access.start if tensor.on_chip else 0
        layout = Layout(access.pairs, par, start, offset, access.dtype, gather=gather)
        return View(base, layout)

    def mask(self, predicates: tuple[Predicate, ...], rank: int) -> Mask | None:
        """The mask over the lanes of an instruction."""
        if not predicates:
            return None
        found: list[Affine] = []
        for predicate in predicates:
            value = Affine(predicate.constant)
            for lane, factor in enumerate(predicate.factors):
                value = value + Affine.lane(lane) * factor
            if self.loop is not None:
                value = value + self.loop * predicate.loop
            found.append(value)
        return Mask(tuple(found), (1,) * rank)

    def of(self, step: Step) -> Mask | None:
        """The mask of a step."""
        return self.mask(step.mask, len(step.mask[0].factors) if step.mask else 0)

    # -- one method a step -----------------------------------------------------------

    def memset(self, step: Step) -> None:
        self.trace.memset(
            value=step.value, dst_tile=self.view(step.dst), mask=self.of(step)
        )

    def dma_copy(self, step: Step) -> None:
        op = AluOp.ADD if step.add else None
        src, dst = self.view(step.src), self.view(step.dst)
        self.trace.dma_copy(src, dst, self.of(step), op)

    def store(self, step: Step) -> None:
        op = AluOp.ADD if step.add else None
        self.trace.store(self.view(step.dst), self.view(step.src), self.of(step), op)

    def store_number(self, step: Step) -> None:
        self.trace.store(self.view(step.dst), step.value, self.of(step))

    def load(self, step: Step) -> None:
        tile = self.trace.load(
            self.view(step.src), self.of(step), step.dtype, other=step.value
        )
        self.trace.dma_copy(tile, self.view(step.dst))

    def indirect_load(self, step: Step) -> None:
        pointer = self.view(step.src, step.index)
        self.trace.indirect_load(
            pointer, self.of(step), self.view(step.dst), oob_mode=_oob(step)
        )

    def indirect_save(self, step: Step) -> None:
        op = AluOp.ADD if step.add else None
        pointer = self.view(step.dst, step.index)
        self.trace.indirect_save(
            pointer, self.view(step.src), self.of(step), op, oob_mode=_oob(step)
        )

    def dma_transpose(self, step: Step) -> None:
        src, dst = self.view(step.src), self.view(step.dst)
        self.trace.dma_transpose(src, step.axes, self.of(step), dst=dst)

    def gather_transpose(self, step: Step) -> None:
        self.trace.dma_transpose(
            self.view(step.src, step.index),
            step.axes,
            self.of(step),
            dst=self.view(step.dst),
            oob_mode=_oob(step),
        )

    def gather_flattened(self, step: Step) -> None:
        dst = self.view(step.dst)
        words = np.array(step.numbers, np.uint32).reshape(step.dst.shape)
        index = self._constant_tile(words, DType.UINT32)
        self.trace.gather_flattened(self.view(step.src), index, self.of(step), dst=dst)

    def local_gather(self, step: Step) -> None:
        run, valid, *numbers = step.numbers
        halves = np.array(numbers, np.uint16).reshape(step.dst.shape[0], -1)
        index = self._constant_tile(halves, DType.UINT16)
        src, dst = self.view(step.src), self.view(step.dst)
        self.trace.local_gather(src, index, run, valid, dst=dst)

    def _constant_tile(self, array: object, dtype: DType) -> View:
        return self.trace.load(self.trace.shared_constant(array, dtype))

    def stream_shuffle(self, step: Step) -> None:
        src, dst = self.view(step.src), self.view(step.dst)
        self.trace.stream_shuffle(src, dst, step.numbers)

    def broadcast_partition(self, step: Step) -> None:
        rows = step.dst.shape[0]
        wide = self.trace.broadcast_partition(
            self.view(step.src), rows, dtype=step.dtype
        )
        self.trace.dma_copy(wide, self.view(step.dst))

    def shared_constant(self, step: Step) -> None:
        assert step.dtype is not None
        array = np.array(step.numbers).astype(NUMPY[step.dtype])
        source = self.trace.shared_constant(array.reshape(step.dst.shape), step.dtype)
        self.trace.dma_copy(source, self.view(step.dst))

    def identity(self, step: Step) -> None:
        assert step.dtype is not None
        rows, columns = step.dst.shape
        if step.value:
            source = self.trace.get_identity_tensor(step.dtype)
            pairs, par = ((1, rows), (1, columns)), 0
        else:
            n = max(rows, columns)
            source = self.trace.shared_identity_matrix(n, step.dtype)
            pairs, par = ((n, rows), (1, columns)), -1
        corner = View(source.base, Layout(pairs, par, 0, 0, step.dtype))
        self.trace.dma_copy(corner, self.view(step.dst))

    def register_copy(self, step: Step) -> None:
        places = np.array([step.numbers], np.int32)
        held = self._constant_tile(places, DType.INT32)
        at: Expr = 0 if self.loop is None else self.loop
        one = View(held.base, Layout(((1, 1), (1, 1)), 0, 0, at, DType.INT32))
        register = self.trace.load_tensor_to_register(one)
        src = self.view(step.src)
        a = src.layout
        moved = View(
            src.base, Layout(a.pairs, -1, 0, register.expr + a.offset, a.dtype)
        )
        self.trace.dma_copy(moved, self.view(step.dst))


def _oob(step: Step) -> OobMode:
    assert step.index is not None
    return OobMode.SKIP if step.index.skip else OobMode.ERROR


def _type(tensor: Tensor, space: Space) -> TensorType:
    return TensorType.of(tensor.shape, tensor.dtype, space)
