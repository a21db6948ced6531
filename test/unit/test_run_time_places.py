"""What is refused while running names the kernel's line, the offset and the rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.machine import MachineError
from xdsl_neuron.nki import functional, isa, language
from xdsl_neuron.testing import assert_kernel_ok

nl: Any = language
nisa: Any = isa
fl: Any = functional.language
A = np.arange(16, dtype=np.float32).reshape(4, 4)


def offset_tile(o: Any, rows: int = 1) -> Any:
    i = nl.ndarray((rows, 1), o.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=i, src=o)
    return i


def saved(tile: Any) -> Any:
    out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def scalar(a: Any, o: Any) -> Any:
    i = offset_tile(o)
    t = nl.ndarray((2, 4), a.dtype, buffer=nl.sbuf)
    src = a.ap([[4, 2], [1, 4]], scalar_offset=i, indirect_dim=0)
    nisa.dma_copy(dst=t, src=src)  # here
    return saved(t)


@nki.jit
def loop(a: Any, o: Any) -> Any:
    i = offset_tile(o)
    t = nl.ndarray((2, 4), a.dtype, buffer=nl.sbuf)
    nisa.memset(t, 0)
    count = nisa.register_alloc()
    nisa.register_load(count, i)
    for j in nl.dynamic_range(count):
        src = a.ap([[4, 2], [1, 4]], scalar_offset=j, indirect_dim=0)
        nisa.dma_copy(dst=t, src=src)  # here
    return saved(t)


@nki.jit
def columns(a: Any, o: Any) -> Any:
    i = offset_tile(o)
    t = nl.ndarray((4, 4), a.dtype, buffer=nl.sbuf)
    u = nl.ndarray((4, 2), a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=a)
    src = t.ap([[4, 4], [1, 2]], scalar_offset=i, indirect_dim=1)
    nisa.tensor_copy(dst=u, src=src)  # here
    return saved(u)


@nki.jit
def vector(a: Any, o: Any) -> Any:
    i = offset_tile(o)
    t = nl.ndarray((1, 4), a.dtype, buffer=nl.sbuf)
    src = a.ap([[4, 1], [1, 4]], vector_offset=i, indirect_dim=0)
    nisa.dma_copy(dst=t, src=src)  # here
    return saved(t)


@functional.jit
def first(a: Any, o: Any) -> Any:
    out = fl.ndarray((2, 4), a.dtype, buffer=fl.shared_hbm)
    i = fl.load(o)
    rows = i[0, 0] + fl.arange(2)[:, None]
    t = fl.load(a[rows, fl.arange(4)[None, :]])  # here
    fl.store(out, t)
    return out


CASES: list[tuple[Any, int, int, str]] = [
    (scalar, 2, 3, "size of 16: offset 3 of `i`, rows 3 to 4 of 4"),
    (scalar, 2, -1, "size of 16: offset -1 of `i`, rows -1 to 0 of 4"),
    (loop, 3, 4, "size of 16: in the iteration j = 3, rows 3 to 4 of 4"),
    (columns, 2, 3, "size of 4: offset 3 of `i`"),
    (vector, 3, 9, "index 9 at row 0 of `i` is out of bounds for 4 rows"),
    (first, 2, 3, "size of 16: offset 3 of `i`, rows 3 to 4 of 4"),
]


def spelled(case: object) -> str:
    return getattr(case, "__name__", "")


@pytest.mark.parametrize(("kernel", "legal", "wrong", "message"), CASES, ids=spelled)
def test_an_offset_out_of_bounds(
    kernel: Any, legal: int, wrong: int, message: str
) -> None:
    """However the kernel is run: by call, at a lower level, or checked."""

    def on(run: Callable[..., Any], value: int) -> Any:
        return run(A, np.array([[value]], np.int32))

    def checked(a: Any, o: Any) -> Any:
        return assert_kernel_ok(kernel, a, o)

    on(checked, legal)
    lowered = [kernel.with_options(level=level) for level in ("bir", "dma")]
    for run in (kernel, *lowered, checked):
        with pytest.raises(MachineError) as caught:
            on(run, wrong)
        found = caught.value.diagnostics[0]
        assert message in found.message
        assert found.location is not None
        assert found.location.file == __file__
        with open(__file__) as file:
            assert "# here" in file.readlines()[found.location.line - 1]
