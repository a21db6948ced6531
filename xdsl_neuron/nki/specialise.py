"""Tracing a kernel for given shapes, values, grid and generation."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

from xdsl_neuron.arch import Arch
from xdsl_neuron.diagnostics import SourceLocation
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import TensorType, whole
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import is_sequence
from xdsl_neuron.nki.binding import Binding
from xdsl_neuron.nki.enums import MemoryRegion
from xdsl_neuron.nki.grid import GridDim
from xdsl_neuron.nki.trace import KernelTrace
from xdsl_neuron.nki.typing import mutable_parameters
from xdsl_neuron.tracer.callables import function_of, name_of
from xdsl_neuron.tracer.calls import run_kernel
from xdsl_neuron.tracer.context import tracing
from xdsl_neuron.tracer.errors import (
    NKISyntaxError,
    NKITypeError,
    SymbolicValueError,
    described,
    internal_error,
)
from xdsl_neuron.tracer.frames import location_attribute
from xdsl_neuron.tracer.index import Expr
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.options import NO_OPTIONS, TraceOptions
from xdsl_neuron.tracer.release_warnings import warn_of_release
from xdsl_neuron.tracer.views import View

TRACED: Final = Counter[str]()
"""How often kernels of each name have been traced in this process."""


@dataclass(frozen=True)
class Personality:
    """
    One of the two languages.

    `rolled` says that loops and the launch grid are traced once with symbolic indices.
    """

    name: str
    target: str
    view: type[View]
    rolled: bool


@dataclass(frozen=True)
class Traced:
    """
    A traced kernel.

    `result` is what the kernel returned, with each tensor replaced by the position of
    its output and its shape.
    """

    module: ModuleOp
    function: penguin.FuncOp
    result: "Result"
    mutable: tuple[int, ...]


@dataclass(frozen=True)
class Output:
    """
    A returned tensor: the output's position, the shape it has for the caller.

    `steps` (in elements, one a dimension) say where the elements are if they are in
    another order than the output's, `dtype` what its bytes are seen as, `truth`
    whether they are bools.
    """

    position: int
    shape: tuple[int, ...]
    steps: tuple[int, ...] | None = None
    dtype: DType | None = None
    truth: bool = False


Result = Output | tuple["Result", ...] | None


def trace_kernel(
    function: Callable[..., Any],
    binding: Binding,
    personality: Personality,
    arch: Arch,
    grid: tuple[GridDim, ...],
    options: TraceOptions = NO_OPTIONS,
) -> Traced:
    """
    The module of a kernel; its instructions have passed their gates on insertion.

    A rolled trace in which `program_id` decides Python control flow is made again,
    once per point of the launch grid; one in which the index of a loop does, with that
    loop unrolled.
    """
    rolled = personality.rolled
    unrolled = frozenset[FileLineColLoc]()
    while True:
        try:
            return _trace(
                function, binding, personality, arch, grid, rolled, unrolled, options
            )
        except SymbolicValueError as error:
            if rolled and error.program_id:
                rolled = False
            elif error.loops - unrolled:
                unrolled |= error.loops
            else:
                raise


def _trace(
    function: Callable[..., Any],
    binding: Binding,
    personality: Personality,
    arch: Arch,
    grid: tuple[GridDim, ...],
    rolled: bool,
    unrolled: frozenset[FileLineColLoc],
    options: TraceOptions,
) -> Traced:
    arguments = _arguments(binding)
    name = name_of(function)
    trace = KernelTrace(
        name,
        arguments,
        arch,
        personality.rolled,
        personality.view,
        grid,
        options,
        unrolled,
    )
    where = _definition(function)
    trace.function.location = where
    if personality.rolled and not options.output_parameters:
        mutable = mutable_parameters(function)
        for buffer in trace.arguments:
            buffer.immutable = buffer.name.partition(".")[0] not in mutable
    for buffer, spec in zip(trace.arguments, binding.specs(), strict=True):
        buffer.truth = spec.truth
    tensors = [trace.view.of(buffer) for buffer in trace.arguments]
    args, kwargs = binding.with_tensors(tensors)
    with tracing(trace):
        try:
            if rolled:
                returned = _run_rolled(trace, function, args, kwargs, where)
            else:
                returned = _run_each(trace, function, args, kwargs)
        except AttributeError:  # a name that a kernel's object or module does not have
            raise
        except Exception as error:
            found = internal_error(error)
            if found is None:
                raise
            raise found from error
        outputs = _Outputs(name, where, personality.rolled)
        result = outputs.collect(returned)
        module = trace.finish(outputs.named())
    TRACED[name] += 1
    return Traced(module, trace.function, result, trace.function.mutable_positions)


def _arguments(binding: Binding) -> list[tuple[str, TensorType]]:
    from xdsl.utils.exceptions import VerifyException

    found: list[tuple[str, TensorType]] = []
    for name, spec in zip(binding.names, binding.specs(), strict=True):
        try:
            found.append((name, TensorType.of(spec.shape, spec.kind, Space.HBM)))
        except VerifyException as error:
            raise NKITypeError(f"argument '{name}': {error}") from None
    return found


def _definition(function: Callable[..., Any]) -> FileLineColLoc:
    found = function_of(function)
    assert found is not None  # the binder refuses others
    code = found.__code__
    return location_attribute(SourceLocation(code.co_filename, code.co_firstlineno, 1))


def _run_each(
    trace: KernelTrace,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """The body once per point of the launch grid; the first result counts."""
    returned: list[Any] = []
    for point in product(*(range(extent) for extent in trace.grid)):
        trace.start_program(point)
        returned.append(run_kernel(function, args, kwargs))
        trace.end_program()
    trace.merge_programs()
    return returned[0]


def _run_rolled(
    trace: KernelTrace,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    where: FileLineColLoc,
) -> Any:
    """The body once, inside a rolled `spmd` loop per axis of the launch grid."""
    with ExitStack() as scopes:
        program: list[Expr] = []
        for number, dim in enumerate(trace.grid):
            index: Expr = 0
            for extent, kind in dim.axes:
                loop = scopes.enter_context(
                    trace.scope(kind, range(extent), f"g{number}", location=where)
                )
                trace.enter_grid_loop(loop.operation)
                index = Affine.index(loop.number) + index * extent
            program.append(index)
        trace.start_program(program)
        returned = run_kernel(function, args, kwargs)
        trace.settle()
    return returned


class _Outputs:
    """
    Numbers the tensors a kernel returns.

    Generation 0.1 refuses one that nothing wrote. From 0.2 on it has what it had: an
    argument its values, another tensor what is undefined, which the machine reports.
    """

    def __init__(
        self, kernel: str, where: FileLineColLoc, must_be_written: bool
    ) -> None:
        self._kernel = kernel
        self._where = where
        self._must_be_written = must_be_written
        self._buffers: list[Buffer] = []

    def collect(self, value: Any) -> Result:
        """The structure of a returned value."""
        if value is None:
            return None
        if is_sequence(value):
            return tuple(self.collect(item) for item in value)
        if not isinstance(value, View):
            raise NKITypeError(
                f"kernel '{self._kernel}' returns {described(value)}, "
                "expected tensors in HBM",
                self._where,
            )
        self._check(value)
        if value.base not in self._buffers:
            self._buffers.append(value.base)
        shape, kind = value.shape, value.element_type
        pairs = value.layout.pairs
        in_order = [pair for pair in pairs if pair[1] > 1] == [
            pair for pair in whole(shape, False).pairs if pair[1] > 1
        ]
        return Output(
            self._buffers.index(value.base),
            shape,
            None if in_order else tuple(step for step, _ in pairs),
            None if kind is value.base.type.dtype else kind,
            value.is_truth,
        )

    def _check(self, view: View) -> None:
        if view.space is not Space.HBM:
            raise NKISyntaxError(
                f"kernel '{self._kernel}' returns {view!r}, expected a tensor in HBM "
                "(buffer=nl.shared_hbm); store the tile first",
                self._where,
            )
        if not _is_all(view):
            raise NKISyntaxError(
                f"kernel '{self._kernel}' returns part of '{view.name}', expected the "
                "whole tensor",
                self._where,
            )
        region = view.base.region
        if region not in (None, MemoryRegion.shared_hbm.value):
            warn_of_release(
                f"kernel '{self._kernel}' returns '{view.name}', a tensor in "
                f"nl.{region}: from release 0.3 on outputs must be in nl.shared_hbm"
            )
        if self._must_be_written and not view.base.written:
            raise NKISyntaxError(f"output '{view.name}' never written to", self._where)

    def named(self) -> list[tuple[str, Buffer]]:
        """The outputs under distinct names."""
        used: set[str] = set()
        found: list[tuple[str, Buffer]] = []
        for at, buffer in enumerate(self._buffers):
            name = buffer.name if buffer.name and " " not in buffer.name else f"out{at}"
            while name in used:
                name += "_"
            used.add(name)
            found.append((name, buffer))
        return found


def _is_all(view: View) -> bool:
    """Whether a view of a tensor in HBM has each of its elements once."""
    layout = view.layout
    if layout.offset != 0 or layout.gather is not None or layout.masks or layout.bounds:
        return False
    step = 1
    for found, num in sorted(pair for pair in layout.pairs if pair[1] > 1):
        if found != step:
            return False
        step *= num
    return step == view.pitch
