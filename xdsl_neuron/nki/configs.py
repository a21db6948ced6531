"""
`nki.jit(compile_config=, specialization_config=)` of generation 0.7.

They say what the vendor's compiler may do with memory and instructions. None of it
changes what a kernel computes; here all of it is without effect, except that a nested
kernel may not ask for something else than the one it is traced into.
"""

import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Final

from xdsl_neuron.tracer.errors import (
    NKISyntaxError,
    NKITypeError,
    NKIValueError,
    described,
)

RING_VARIABLE: Final = "NKI_PREFETCH_RING_SIZE"


class AddressRotation(Enum):
    """Whether the vendor's backend may move a tensor to another address."""

    AUTO = "auto"
    """Unless the address is fixed."""
    ENABLE = "enable"
    DISABLE = "disable"


@dataclass(frozen=True, kw_only=True)
class CompileConfig:
    """
    What the vendor's compiler does with a kernel.

    Documented defaults are those of `address_rotation`, `prefetch_auto` and
    `nki_alloc_fallback`; the others are our choice.
    """

    address_rotation: AddressRotation = AddressRotation.AUTO
    non_ssa_legalization: bool = False
    dead_code_elim: bool = False
    barrier_check: bool = False
    prefetch_auto: bool = False
    nki_alloc_fallback: bool = True

    def __post_init__(self) -> None:
        _check_types(self)


@dataclass(frozen=True, kw_only=True)
class SpecializationConfig:
    """How a kernel is traced; a nested kernel's other config is an error or warned."""

    allow_nested_config_override: bool = False

    def __post_init__(self) -> None:
        _check_types(self)


@dataclass(frozen=True)
class Configs:
    """What a kernel was decorated with; None where it was not."""

    compiling: CompileConfig | None = None
    specializing: SpecializationConfig | None = None


NO_CONFIGS: Final = Configs()
_outermost: ContextVar[Configs] = ContextVar("configs", default=NO_CONFIGS)


def as_configs(compile_config: Any, specialization_config: Any) -> Configs:
    """The two arguments of `nki.jit`."""
    _check_type(compile_config, CompileConfig, "compile_config")
    _check_type(specialization_config, SpecializationConfig, "specialization_config")
    return Configs(compile_config, specialization_config)


@contextmanager
def configured(configs: Configs) -> Generator[None]:
    """A kernel with these configs is traced; NKIValueError where they contradict."""
    given = configs.compiling
    if given is not None and given.prefetch_auto and RING_VARIABLE in os.environ:
        raise NKIValueError(
            f"CompileConfig(prefetch_auto=True) and {RING_VARIABLE}, which is set, are "
            "mutually exclusive"
        )
    token = _outermost.set(configs)
    try:
        yield
    finally:
        _outermost.reset(token)


def check_nested(configs: Configs, name: str) -> None:
    """
    A kernel is called inside the one that is traced, under whose config it stands.

    Where its own says otherwise this is refused, or with `allow_nested_config_override`
    of the outer kernel a warning.
    """
    nested, outer = configs.compiling, _outermost.get()
    around = outer.compiling or CompileConfig()
    if nested is None or nested == around:
        return
    differing = ", ".join(
        f"{field.name}={getattr(nested, field.name)} for {getattr(around, field.name)}"
        for field in fields(nested)
        if getattr(nested, field.name) != getattr(around, field.name)
    )
    message = (
        f"the compile_config of the nested kernel '{name}' disagrees with the one of "
        f"the kernel it is called in: {differing}"
    )
    allowed = outer.specializing
    if allowed is None or not allowed.allow_nested_config_override:
        raise NKISyntaxError(
            f"{message}; give both the same, or the outer one specialization_config="
            "SpecializationConfig(allow_nested_config_override=True)"
        )
    warnings.warn(f"{message}; the latter is used", stacklevel=3)


def _check_types(config: Any) -> None:
    """Refuses fields that are neither what they are declared as."""
    for field in fields(config):
        what, default = f"{field.name} of {type(config).__name__}", field.default
        kind = AddressRotation if isinstance(default, AddressRotation) else bool
        _check_type(getattr(config, field.name), kind, what, False)


def _check_type(value: object, kind: type, what: str, optional: bool = True) -> None:
    if not (isinstance(value, kind) or (optional and value is None)):
        raise NKITypeError(
            f"`{what}` must be a {kind.__name__}, got {described(value)}"
        )
