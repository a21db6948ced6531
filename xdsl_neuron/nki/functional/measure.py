"""
`nki.baremetal`, `nki.benchmark` and `nki.profile`: decorators that run a kernel.

On the vendor's stack they compile for a device and measure. Here the kernel runs on the
machine, and what is counted is exact: instructions, and bytes moved by DMA. No latency
is given: the functional machine has no clock.
"""

from collections.abc import Callable
from typing import Any

from xdsl_neuron.nki.counts import Counts, count
from xdsl_neuron.nki.functional.personality import PERSONALITY
from xdsl_neuron.nki.kernel import Kernel, as_kernel
from xdsl_neuron.nki.launch_options import check_options
from xdsl_neuron.tracer.context import current_or_none
from xdsl_neuron.tracer.errors import NKIRuntimeError


class BenchmarkResult:
    """What `nki.benchmark` tells of a run: `counts`, and no latency."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    @property
    def nc_latency(self) -> Any:
        """Refused: latency needs a clock, which the functional machine has not."""
        raise NKIRuntimeError(
            "latency is not modelled; benchmark_result.counts has the numbers of "
            "instructions and of bytes moved"
        )


class MeasuredKernel(Kernel):
    """
    A kernel that counts what it executes when it is called.

    Attributes:
        benchmark_result: of the last call; None before it.
    """

    benchmark_result: BenchmarkResult | None = None
    report = False
    """Whether a call prints its counts."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The kernel's result; inside another kernel, a part of that one."""
        if current_or_none() is not None:
            return super().__call__(*args, **kwargs)
        counts = count(self.trace(*args, **kwargs))
        self.benchmark_result = BenchmarkResult(counts)
        if self.report:
            print(f"{self.__name__}: latency is not modelled\n{counts}")
        return super().__call__(*args, **kwargs)


Decorator = Callable[..., Any]


def _measuring(name: str, report: bool) -> Decorator:
    def decorate(
        kernel: Any = None, *, platform_target: str | None = None, **options: Any
    ) -> Any:
        """
        Makes a function, or a kernel, one that counts what it executes.

        Options of the device's tools (`warmup`, `iters`, `save_neff_name`,
        `working_directory`, ...) have no effect.
        """
        check_options(name, options, ("platform_target",))

        def make(function: Any) -> MeasuredKernel:
            plain = as_kernel(function, PERSONALITY)
            found = MeasuredKernel(
                plain.function,
                plain.personality,
                platform_target or plain.platform_target,
                plain.grid,
                plain.options,
                plain.level,
            )
            found.report = report
            return found

        return make if kernel is None else make(kernel)

    decorate.__name__ = decorate.__qualname__ = name
    return decorate


baremetal = _measuring("baremetal", report=False)
benchmark = _measuring("benchmark", report=True)
profile = _measuring("profile", report=True)
