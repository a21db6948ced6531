"""
`neuronxcc.nki.compiler`: where tiles are, and directives that change no result.

Addresses stand in the module and are checked. The machine gives every tensor storage of
its own: a kernel whose tiles share an address while both are in use computes something
else on the device.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from xdsl_neuron.nki.enums import MemoryRegion
from xdsl_neuron.nki.kernel import AUTO_ALLOC, Kernel
from xdsl_neuron.nki.placement import Placement, rotating
from xdsl_neuron.tracer.errors import NKITypeError

F = TypeVar("F", bound=Callable[..., Any])


def _placed(region: MemoryRegion, func: Any) -> Placement:
    if not callable(func):
        raise NKITypeError(
            f"alloc takes a function of a block's indices, partitions and bytes, got "
            f"{type(func).__name__}"
        )
    return Placement(region, func)


class _Sbuf:
    """`ncc.sbuf`: values for `buffer=` of `nl.ndarray`."""

    def alloc(self, func: Any) -> Placement:
        """Addresses from `func(idx, pdim_size, fdim_size)`: (partition, byte)."""
        return _placed(MemoryRegion.sbuf, func)

    def mod_alloc(
        self,
        *,
        base_addr: int,
        base_partition: int = 0,
        num_par_tiles: Sequence[int] = (),
        num_free_tiles: Sequence[int] = (),
    ) -> Placement:
        """Addresses that rotate over tiles along partitions and along bytes."""

        def rule(index: tuple[int, ...], rows: int, size: int) -> tuple[int, int]:
            return (
                rotating(base_partition, num_par_tiles, rows)(index),
                rotating(base_addr, num_free_tiles, size)(index),
            )

        return Placement(MemoryRegion.sbuf, rule)

    def auto_alloc(self) -> Placement:
        """Addresses chosen by the compiler."""
        return Placement(MemoryRegion.sbuf)


class _Psum:
    """`ncc.psum`: values for `buffer=` of `nl.ndarray`."""

    def alloc(self, func: Any) -> Placement:
        """Addresses from `func(idx, pdim_size, fdim_size)`: (bank, partition, byte)."""
        return _placed(MemoryRegion.psum, func)

    def mod_alloc(
        self,
        *,
        base_bank: int,
        base_addr: int = 0,
        base_partition: int = 0,
        num_bank_tiles: Sequence[int] = (),
        num_par_tiles: Sequence[int] = (),
        num_free_tiles: Sequence[int] = (),
    ) -> Placement:
        """Addresses that rotate over banks, partitions and bytes of a bank."""

        def rule(index: tuple[int, ...], rows: int, size: int) -> tuple[int, int, int]:
            return (
                rotating(base_bank, num_bank_tiles, 1)(index),
                rotating(base_partition, num_par_tiles, rows)(index),
                rotating(base_addr, num_free_tiles, size)(index),
            )

        return Placement(MemoryRegion.psum, rule)

    def auto_alloc(self) -> Placement:
        """Addresses chosen by the compiler."""
        return Placement(MemoryRegion.psum)


sbuf = _Sbuf()
psum = _Psum()


def skip_middle_end_transformations(function: F) -> F:
    """Accepted."""
    return function


def enable_stack_allocator(
    function: F | None = None, **options: Any
) -> F | Callable[[F], F]:
    """Accepted, with or without arguments."""

    def same(function: F) -> F:
        return function

    return same if function is None else function


def force_auto_alloc(function: F) -> F:
    """Leaves all addresses to the compiler, also those that the kernel gives."""
    found: object = function
    if isinstance(found, Kernel):
        found.force_auto_alloc()
    else:
        setattr(function, AUTO_ALLOC, True)
    return function


def precise_schedule(function: F) -> F:
    """Accepted: instructions keep their order anyway."""
    return function


@contextmanager
def no_reorder() -> Generator[None]:
    """Accepted: instructions keep their order anyway."""
    yield


@contextmanager
def multi_buffer(count: int) -> Generator[None]:
    """Accepted."""
    yield
