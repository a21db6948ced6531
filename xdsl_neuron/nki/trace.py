"""A trace with a launch grid, and with results that wait to be emitted."""

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from xdsl_neuron.affine import Affine
from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.grid import GridDim
from xdsl_neuron.tracer.codegen import NeuronCodegen
from xdsl_neuron.tracer.context import current
from xdsl_neuron.tracer.errors import NKIRuntimeError, NKISyntaxError
from xdsl_neuron.tracer.index import Expr
from xdsl_neuron.tracer.options import NO_OPTIONS, TraceOptions
from xdsl_neuron.tracer.state import Dep, Emission
from xdsl_neuron.tracer.symbols import Loop
from xdsl_neuron.tracer.views import Buffer, View


class Pending(Protocol):
    """A result that is emitted only when it is clear where it goes."""

    def materialise(self) -> None:
        """Emit it into a tile of its own."""
        ...


class KernelTrace(NeuronCodegen):
    """
    A trace of one kernel for one launch grid.

    `program` holds the index along each axis of the grid: an integer, or the loop
    index of a rolled `spmd` loop.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[tuple[str, TensorType]],
        arch: Arch,
        masks_allowed: bool,
        view: type[View],
        grid: tuple[GridDim, ...],
        options: TraceOptions = NO_OPTIONS,
    ) -> None:
        super().__init__(name, arguments, arch, masks_allowed, view, options)
        self.grid = grid
        self.program: list[Expr] = [0] * len(grid)
        self.pending: Pending | None = None
        self.broken_loop: FileLineColLoc | None = None
        self._shared: list[Buffer] = []
        self._shared_made = 0
        self._outermost: Operation | None = None

    def insert(
        self,
        inst: Operation,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        mask: Sequence[Affine] = (),
        *,
        location: FileLineColLoc | None = None,
        before: Operation | None = None,
    ) -> str:
        """The append point; what was put off comes first."""
        if self.pending is not None or self.broken_loop is not None:
            self.settle()
        return super().insert(inst, name, deps, mask, location=location, before=before)

    def settle(self) -> None:
        """Emits what was put off; refuses to go on after a loop was left early."""
        if self.broken_loop is not None:
            raise NKISyntaxError(
                "break, return or an exception left the body of an affine_range or "
                "sequential_range, which is traced once for all iterations; use "
                "static_range or range, or a mask",
                self.broken_loop,
            )
        pending, self.pending = self.pending, None
        if pending is not None:
            pending.materialise()

    def assign(self, target: View, value: View) -> None:
        """
        `target[...] = value`: the value's instruction writes there, else a copy does.

        What its mask left out keeps what the target held. An instruction that is not
        the last one, whose result has a variable, that would change the type or reads
        the target elsewhere, stays as it is.
        """
        last = self.last
        if last is not None and self._may_move(last, target, value):
            self._erase(last, value.base)
            self.emit(
                last.kind,
                [target, *last.views[1:]],
                last.properties,
                mask=last.mask,
                name=last.name,
                deps=last.deps,
                location=last.location,
            )
            value.base, value.layout = target.base, target.layout
            return
        mask = value.base.mask if value.shape == target.shape else None
        self.tensor_copy(self.broadcast(value, target.shape), target, mask)

    def _may_move(self, last: Emission, target: View, value: View) -> bool:
        """Whether the last instruction made `value`, and may write `target` instead."""
        if last.views[0] is not value or self.block.last_op is not last.operation:
            return False
        if last.kind is penguin.MatMulOp:  # it adds to what a tile in use holds
            return False
        result = value.base.value
        if result.name_hint is not None or not result.has_one_use():
            return False
        like = (value.shape, value.element_type, value.space)
        if (target.shape, target.element_type, target.space) != like:
            return False
        return all(
            view is None or view.base is not target.base or view.same_elements(target)
            for view in last.views[1:]
        )

    def _erase(self, last: Emission, buffer: Buffer) -> None:
        last.operation.detach()
        last.operation.erase()
        allocation = buffer.value.owner
        assert isinstance(allocation, Operation)
        allocation.detach()
        allocation.erase()
        self.forget_name(last.name)

    # -- the launch grid -----------------------------------------------------------

    def start_program(self, program: Sequence[Expr]) -> None:
        """The body that follows is this instance of the kernel."""
        self.program = list(program)
        self._shared_made = 0

    def enter_grid_loop(self, operation: Operation) -> None:
        """Records the outermost `spmd` loop; shared tensors stand in front of it."""
        if self._outermost is None:
            self._outermost = operation

    @property
    def at_top(self) -> bool:
        """Whether no loop but those of the launch grid is open."""
        loops = [loop for loop in self.loops if isinstance(loop, Loop)]
        return all(loop.grid for loop in loops if loop.open)

    def shared_tensor(
        self, shape: Sequence[int], dtype: DType, name: str | None
    ) -> Buffer:
        """
        An HBM tensor that all programs of the grid share.

        Programs make them in the same order: the n-th of each is one tensor.
        """
        at = self._shared_made
        self._shared_made += 1
        if at < len(self._shared):
            found = self._shared[at]
            if (found.type.shape, found.type.dtype) != (tuple(shape), dtype):
                raise NKISyntaxError(
                    f"shared tensor {at} of a program of the launch grid is "
                    f"{tuple(shape)} {dtype.nki_name}, but {found.type} in the first"
                )
            return found
        buffer = self.create_tensor(
            shape, dtype, Space.HBM, name, before=self._outermost
        )
        self._shared.append(buffer)
        return buffer


def session() -> KernelTrace:
    """The running trace of a kernel; refused outside of one."""
    found = current()
    if not isinstance(found, KernelTrace):
        raise NKIRuntimeError("the running trace is not one of a kernel language")
    return found
