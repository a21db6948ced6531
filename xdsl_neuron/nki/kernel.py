"""
Kernels as objects: launch, trace, simulate.

`@nki.jit` makes a `Kernel`. Called with arrays it is traced once for their shapes and
run; inside another kernel it is simply part of that one.
"""

import os
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial, update_wrapper
from math import prod
from typing import Any, Final

from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.arch import Arch, get_arch
from xdsl_neuron.nki.binding import Binder, Binding, refuse_lists
from xdsl_neuron.nki.captured import Captured
from xdsl_neuron.nki.configs import (
    NO_CONFIGS,
    Configs,
    as_configs,
    check_nested,
    configured,
)
from xdsl_neuron.nki.grid import GridDim, as_grid
from xdsl_neuron.nki.launch_options import check_options
from xdsl_neuron.nki.run import Runner
from xdsl_neuron.nki.specialise import Personality, Traced, trace_kernel
from xdsl_neuron.tracer.callables import is_method, is_partial, name_of
from xdsl_neuron.tracer.context import current_or_none
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.options import NO_OPTIONS, TraceOptions
from xdsl_neuron.verification import verify

AUTO_ALLOC: Final = "__nki_force_auto_alloc__"
"""The attribute of a function whose addresses are left to the compiler."""

LEVELS: Final = ("penguin", "bir", "dma")
"""What can be executed: the traced module, or what it is lowered to."""

TARGET_VARIABLE: Final = "NEURON_PLATFORM_TARGET_OVERRIDE"
CORES_VARIABLE: Final = "NEURON_LOGICAL_NC_CONFIG"


def resolve_target(asked: str | None, personality: Personality) -> Arch:
    """The generation: asked for, set in the environment, or the language's default."""
    name = asked or os.environ.get(TARGET_VARIABLE) or personality.target
    try:
        return get_arch(name)
    except ValueError as error:
        raise NKIValueError(str(error)) from None


def resolve_grid(
    asked: tuple[GridDim, ...], personality: Personality
) -> tuple[GridDim, ...]:
    """
    The launch grid: asked for, or the degree of LNC that is set in the environment.

    From 0.2 on programs are the cores of a logical core, 1 or 2. NKIValueError where
    the environment says something else than the launch.
    """
    given = os.environ.get(CORES_VARIABLE)
    if personality.rolled or not given:
        return asked
    if given not in ("1", "2"):
        raise NKIValueError(f"{CORES_VARIABLE} is {given!r}, expected 1 or 2")
    if not asked:
        return as_grid(int(given)) if given == "2" else ()
    if prod(asked) != int(given):
        raise NKIValueError(
            f"the kernel is launched on [{', '.join(map(str, asked))}] and "
            f"{CORES_VARIABLE} is {given}: the degrees of LNC must match"
        )
    return asked


class Kernel:
    """A kernel function, with the traces it has been run with."""

    def __init__(
        self,
        function: Callable[..., Any],
        personality: Personality,
        platform_target: str | None = None,
        grid: tuple[GridDim, ...] = (),
        options: TraceOptions = NO_OPTIONS,
        level: str | None = None,
        configs: Configs = NO_CONFIGS,
    ) -> None:
        self.function = function
        self.personality = personality
        self.platform_target = platform_target
        self.grid = grid
        self.options = options
        self.level = level
        self.configs = configs
        if getattr(function, AUTO_ALLOC, False):
            self.force_auto_alloc()
        self._set_function(function)

    def _set_function(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._binder = Binder(function)
        self._captured = Captured(self._binder.function)
        self._runners: dict[object, Runner] = {}
        # The attributes of an object that is called are not the kernel's.
        update_wrapper(self, function, updated=())
        self.__name__ = name_of(function)

    def force_auto_alloc(self) -> None:
        """Ignores the addresses that the kernel gives its tiles."""
        self.options = replace(self.options, force_auto_alloc=True)

    def __getitem__(self, grid: Any) -> "Kernel":
        """The same kernel launched on a grid; traces are shared."""
        launched = self._copy()
        launched.grid = as_grid(grid)
        return launched

    def with_function(self, function: Callable[..., Any]) -> "Kernel":
        """Another function, decorated as this one."""
        found = self._copy()
        found._set_function(function)
        return found

    def __get__(self, instance: Any, owner: type | None = None) -> "Kernel":
        """The kernel that is a method, with the object or class it was found on."""
        if not is_method(self.function):
            return self
        bound: Any = self.function
        function = bound.__get__(instance, owner)
        return self if function is self.function else self.with_function(function)

    def with_configs(self, configs: Configs) -> "Kernel":
        """The same kernel, decorated otherwise; traces are shared."""
        configured = self._copy()
        configured.configs = configs
        return configured

    def _copy(self) -> "Kernel":
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel on arrays; inside a kernel, traces it into that one."""
        trace = current_or_none()
        if trace is not None:
            if self.grid and any(extent != 1 for extent in self.grid):
                raise NKISyntaxError(
                    f"calling {self.__name__}[{self.grid}](...) inside "
                    "another kernel is not supported."
                )
            check_nested(self.configs, self.__name__)
            return self.function(*args, **kwargs)
        return self.simulate(args, kwargs)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(self._binder.signature.parameters)

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the parameters that every call gives a value."""
        return tuple(
            name
            for name, each in self._binder.signature.parameters.items()
            if each.default is each.empty
            and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        )

    def simulate(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the kernel on arrays."""
        binding = self._binder.bind(args, kwargs)
        arch = resolve_target(self.platform_target, self.personality)
        grid = resolve_grid(self.grid, self.personality)
        level = self.level or Runner.default_level()
        runner = None
        key = None
        state = None if binding.key is None else self._captured.state()
        if state is not None:
            switches = (level, Runner.default_options())
            key = (binding.key, state, grid, arch, switches, self.configs)
            runner = self._runners.get(key)
        if runner is None:
            runner = Runner(self._trace(binding, arch), level)
            if key is not None:
                self._runners[key] = runner
        return runner.run(binding.arrays)

    def tensors(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The arrays among the arguments, in the order of the module's inputs."""
        return self._binder.bind(args, kwargs).arrays

    def trace(self, *args: Any, **kwargs: Any) -> ModuleOp:
        """The verified `penguin` module of the kernel for arrays or tensor specs."""
        binding = self._binder.bind(args, kwargs)
        arch = resolve_target(self.platform_target, self.personality)
        module = self._trace(binding, arch).module
        verify(module)
        return module

    def _trace(self, binding: Binding, arch: Arch) -> Traced:
        grid = resolve_grid(self.grid, self.personality)
        if not self.personality.rolled:
            refuse_lists(binding, self._binder)
        with configured(self.configs):
            return trace_kernel(
                self._binder.function,
                binding,
                self.personality,
                arch,
                grid,
                self.options,
            )

    def with_options(self, **options: Any) -> "Kernel":
        """
        The same kernel traced, or with `level=` executed, otherwise.

        Options of the vendor's tools have no effect; others are refused.
        """
        names = [field.name for field in fields(TraceOptions)]
        check_options("trace", options, (*names, "level"))
        known = {name: options[name] for name in names if name in options}
        level = options.get("level", self.level)
        if level not in (None, *LEVELS):
            raise NKIValueError(
                f"`level` is {level!r}, expected one of {', '.join(LEVELS)}"
            )
        if not known and level == self.level:
            return self
        return Kernel(
            self.function,
            self.personality,
            self.platform_target,
            self.grid,
            replace(self.options, **known),
            level,
            self.configs,
        )

    def __repr__(self) -> str:
        grid = (
            f"[{', '.join(str(extent) for extent in self.grid)}]" if self.grid else ""
        )
        return f"<nki kernel {self.__name__}{grid}>"


def make_jit(personality: Personality) -> Callable[..., Any]:
    """The decorator `jit` of a language: with or without arguments, or called."""

    def jit(
        func: Callable[..., Any] | None = None,
        mode: str = "auto",
        *,
        platform_target: str | None = None,
        **options: Any,
    ) -> Any:
        """
        Makes a function a kernel.

        `mode` says what a call does on the vendor's stack; here it simulates. A kernel
        with `kernel_return=False` returns nothing and writes its parameters. Options
        of the vendor's tools (`experimental_flags`, ...) have no effect.
        """
        check_options("jit", options, ("kernel_return", "mode", "platform_target"))
        writes = options.get("kernel_return") is False
        return _decorated(func, personality, platform_target, NO_CONFIGS, writes)

    return jit


def make_configured_jit(personality: Personality) -> Callable[..., Any]:
    """`jit` of a language whose kernels have configurations."""

    def jit(
        fn: Callable[..., Any] | None = None,
        mode: str = "auto",
        *,
        platform_target: str | None = None,
        compile_config: Any = None,
        specialization_config: Any = None,
        **options: Any,
    ) -> Any:
        """
        Makes a function a kernel.

        `mode` says what a call does on the vendor's stack; here it simulates. The
        configs (`nki.compiler`) and options of the vendor's tools change nothing of
        what the kernel computes.
        """
        own = ("compile_config", "mode", "platform_target", "specialization_config")
        check_options("jit", options, own)
        configs = as_configs(compile_config, specialization_config)
        return _decorated(fn, personality, platform_target, configs)

    return jit


def _decorated(
    function: Callable[..., Any] | None,
    personality: Personality,
    target: str | None,
    configs: Configs,
    writes_parameters: bool = False,
) -> Any:
    """The kernel of a function, or without one a decorator that makes it."""
    options = TraceOptions(output_parameters=writes_parameters)

    def make(function: Callable[..., Any]) -> Kernel:
        kernel = _made_before(function)
        if kernel is None:
            return Kernel(
                function, personality, target, options=options, configs=configs
            )
        return kernel if configs == NO_CONFIGS else kernel.with_configs(configs)

    return make if function is None else make(function)


class Tracer:
    """
    What `nki.trace(kernel)` gives: called, it returns the kernel's module.

    It is still the kernel it was made of, which may be launched on a grid, simulated,
    or called inside another kernel: `nki.trace` is used as a decorator too.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        update_wrapper(self, kernel.function, updated=())

    def __getitem__(self, grid: Any) -> "Tracer":
        """The same kernel launched on a grid."""
        return Tracer(self.kernel[grid])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The verified `penguin` module; inside a kernel, a part of that one."""
        if current_or_none() is not None:
            return self.kernel(*args, **kwargs)
        return self.kernel.trace(*args, **kwargs)


def is_kernel(value: object) -> bool:
    """Whether a decorator of a language has made it."""
    return isinstance(value, Kernel | Tracer)


def _made_before(value: Any) -> Kernel | None:
    """The kernel of what a decorator made, or of a partial of that."""
    if isinstance(value, Tracer):
        return value.kernel
    if is_partial(value):
        inner = _made_before(value.func)
        if inner is None:
            return None
        again = partial(inner.function, *value.args, **value.keywords)
        return inner.with_function(again)
    return value if isinstance(value, Kernel) else None


def as_kernel(kernel: Any, personality: Personality) -> Kernel:
    """A kernel object, made of a plain function where needed."""
    found = _made_before(kernel)
    if found is not None:
        return found
    if callable(kernel):
        return Kernel(kernel, personality)
    raise NKITypeError(f"expected a kernel, got {type(kernel).__name__}")
