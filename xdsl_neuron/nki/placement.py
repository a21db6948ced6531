"""
Addresses that a kernel gives its tiles: `ncc.sbuf.alloc`, `ncc.psum.mod_alloc`.

An address is worked out for each block of a tensor, by a function of the block's
indices, of its partitions and of its bytes in a partition. In SBUF it is (partition,
byte), in PSUM (bank, partition, byte in the bank). The rotating addresses are as the
vendor's guide of direct allocation defines them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import product
from math import prod
from typing import Any, Final

from xdsl_neuron.arch import Arch
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import is_sequence
from xdsl_neuron.nki.enums import MemoryRegion
from xdsl_neuron.tracer.errors import NKIError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import is_integer

Rule = Callable[..., Any]


ARGUMENTS: Final = ("idx", "pdim_size", "fdim_size")
"""What the parameters of an allocation function are called in the vendor's guide."""


def _asked(rule: Rule, index: tuple[int, ...], rows: int, size: int) -> Any:
    """The function's answer; one with the guide's names may have others in front."""
    given = index, rows, size
    if set(ARGUMENTS) <= set(signature(rule).parameters):
        return rule(**dict(zip(ARGUMENTS, given, strict=True)))
    return rule(*given)


@dataclass(frozen=True)
class Placement:
    """A memory region, and which address each block has there; None: any."""

    region: MemoryRegion
    rule: Rule | None = None

    def addresses(
        self, blocks: Sequence[int], partitions: int, bytes_per_partition: int
    ) -> list[int]:
        """Partition and byte of each block, in the order of their indices."""
        found: list[int] = []
        if self.rule is None:
            return found
        for index in product(*(range(extent) for extent in blocks)):
            given = self._ask(index, partitions, bytes_per_partition)
            if self.region.space is Space.PSUM:
                bank, row, byte = given
                if bank < 0:
                    raise NKIValueError(f"block {index} has the bank {bank}")
                given = (row, bank * Arch.psum_bank_bytes + byte)
            found += given
        return found

    def _ask(self, index: tuple[int, ...], rows: int, size: int) -> tuple[int, ...]:
        assert self.rule is not None
        names = ("bank", "partition", "byte")
        if self.region.space is Space.SBUF:
            names = names[1:]
        try:
            given = _asked(self.rule, index, rows, size)
        except NKIError:
            raise
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise NKITypeError(
                f"the allocation function of block {index} failed: {error}; it is "
                "called with the block's indices, its partitions and its bytes"
            ) from error
        if (
            not is_sequence(given)
            or len(given) != len(names)
            or not all(is_integer(value) for value in given)
        ):
            raise NKITypeError(
                f"the allocation function gives {given!r} for block {index}, expected "
                f"integers ({', '.join(names)})"
            )
        return tuple(int(value) for value in given)


def rotating(base: int, counts: Sequence[int], scale: int) -> Callable[..., int]:
    """
    `base` + `scale` for each tile, modulo `counts` tiles along each block dimension.

    Without `counts` all blocks have the same address; indices or counts that the other
    has no counterpart for do not matter.
    """

    def address(index: tuple[int, ...]) -> int:
        shape = tuple(counts)
        if any(extent <= 0 for extent in shape):
            raise NKIValueError(f"numbers of tiles {shape} must be positive")
        place = 0
        for at, (k, extent) in enumerate(zip(index, shape, strict=False)):
            place += k % extent * prod(shape[at + 1 :])
        return base + place * scale

    return address
