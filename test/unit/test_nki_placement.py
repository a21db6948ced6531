"""Addresses that a kernel gives its tiles (nki.md 1.3 direct allocation)."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.nki.functional import compiler
from xdsl_neuron.testing import assert_kernel_ok, printed
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
nl: Any = functional_language
ncc: Any = compiler

P, F = 32, 16


def in_sbuf(rule: Callable[[Any, Any, Any], Any]) -> Any:
    return ncc.sbuf.alloc(rule)


def in_psum(rule: Callable[[Any, Any, Any], Any]) -> Any:
    return ncc.psum.alloc(rule)


def of_the_index_only(index: Any) -> Any:
    return 0, 0


def copied(buffer: Any, *blocks: int, dtype: Any = None) -> Callable[..., Any]:
    """A kernel that copies `x` by way of tiles in `buffer`."""

    def kernel(x: Any) -> Any:
        shape = (*blocks, nl.par_dim(P), F)
        tiles = nl.ndarray(shape, dtype or nl.float32, buffer=buffer)
        out = nl.ndarray((P, F), nl.float32, buffer=nl.shared_hbm)
        first = tiles[(0,) * len(blocks)] if blocks else tiles
        first[:, :] = nl.load(x)
        nl.store(out, nl.copy(first))
        return out

    return kernel


def allocation(kernel: Any) -> str:
    text = printed(nki.trace(kernel)(tensor_spec("f32", (P, F))))
    return next(line for line in text.splitlines() if "%tiles = " in line)


@pytest.mark.parametrize(
    ("buffer", "blocks", "addresses"),
    [
        (ncc.sbuf.mod_alloc(base_addr=1024), (), "(0, 1024)"),
        (ncc.sbuf.auto_alloc(), (2,), ""),
        (ncc.sbuf.mod_alloc(base_addr=8), (2,), "(0, 8), (0, 8)"),
        (
            ncc.sbuf.mod_alloc(base_addr=8, num_free_tiles=(2,)),
            (3,),
            "(0, 8), (0, 72), (0, 8)",
        ),
        (
            ncc.sbuf.mod_alloc(
                base_addr=0,
                base_partition=32,
                num_par_tiles=(1, 2),
                num_free_tiles=(2,),
            ),
            (2, 2),
            "(32, 0), (64, 0), (32, 64), (64, 64)",
        ),
        (
            ncc.psum.mod_alloc(base_bank=1, num_bank_tiles=(1, 2), base_addr=64),
            (2, 3),
            "(0, 2112), (0, 4160), (0, 2112), (0, 2112), (0, 4160), (0, 2112)",
        ),
        (
            in_psum(lambda idx, rows, size: (idx[0] % 2 + 2, rows, 2 * size)),
            (3,),
            "(32, 4224), (32, 6272), (32, 4224)",
        ),
        (in_sbuf(lambda idx, rows, size: (0, 512)), (), "(0, 512)"),
    ],
)
def test_addresses_stand_in_the_module(
    buffer: Any, blocks: tuple[int, ...], addresses: str
) -> None:
    line = allocation(copied(buffer, *blocks))
    expected = f" at [{addresses}] :" if addresses else f"blocks {prod(blocks)} :"
    assert expected in line


@pytest.mark.parametrize(
    "buffer",
    [ncc.sbuf.mod_alloc(base_addr=64), ncc.psum.mod_alloc(base_bank=7)],
)
def test_kernels_run(buffer: Any) -> None:
    x = np.random.default_rng(1).standard_normal((P, F), dtype=np.float32)
    assert_kernel_ok(nki.jit(copied(buffer)), x, expected=x)


def test_addresses_left_to_the_compiler() -> None:
    kernel = copied(ncc.sbuf.mod_alloc(base_addr=64))
    for decorated in (
        nki.jit(ncc.force_auto_alloc(copied(ncc.sbuf.mod_alloc(base_addr=64)))),
        ncc.force_auto_alloc(nki.jit(kernel)),
    ):
        assert " at " not in allocation(decorated)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (ncc.sbuf.mod_alloc(base_addr=212984), "64 bytes from 212984 on exceed the"),
        (ncc.sbuf.mod_alloc(base_addr=-1), "exceed the 212984 of a partition of sbuf"),
        (ncc.sbuf.mod_alloc(base_addr=0, base_partition=97), "32 partitions from 97"),
        (ncc.psum.mod_alloc(base_bank=8), "exceed the 16384 of a partition of psum"),
        (ncc.psum.mod_alloc(base_bank=-1), "has the bank -1"),
        (ncc.psum.mod_alloc(base_bank=0, base_addr=2000), "cross a PSUM bank"),
        (ncc.psum.mod_alloc(base_bank=0, base_addr=2), "a multiple of 4 bytes"),
        (ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(0,)), "must be positive"),
        (ncc.sbuf.alloc(of_the_index_only), "the allocation function of block () fa"),
        (in_sbuf(lambda i, p, f: (0, 0, 0)), r"expected integers (partition, b"),
        (in_psum(lambda i, p, f: (0, 0)), "expected integers (bank, partition"),
        (in_sbuf(lambda i, p, f: (0, 0.5)), "gives (0, 0.5) for block ()"),
    ],
)
def test_addresses_that_are_refused(buffer: Any, message: str) -> None:
    with pytest.raises(NKIError) as raised:
        allocation(copied(buffer))
    assert message in str(raised.value)
    assert raised.value.location is not None


def test_alloc_takes_a_function() -> None:
    with pytest.raises(NKIError, match="alloc takes a function"):
        ncc.sbuf.alloc(3)
