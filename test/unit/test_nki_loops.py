"""Loops of both generations: rolled or unrolled, and what is refused in a body."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.language as unrolled
from xdsl_neuron.dialects import penguin
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.tracer.errors import NKIError

X = tensor_spec("f32", (512, 64))
Kernel = Callable[[Any], Any]
# Kernels are written without types: every name of the language is `Any` to them.
nl: Any = functional_language


def traced(kernel: Kernel) -> ModuleOp:
    return functional.trace(kernel)(X)


def loops(module: ModuleOp) -> list[str]:
    found = [op for op in module.walk() if isinstance(op, penguin.ForOp)]
    return [
        f"{op.kind.data} {op.index.name_hint} {list(op.static_range())}" for op in found
    ]


def output() -> Any:
    return nl.ndarray((512, 64), nl.float32, buffer=nl.shared_hbm, name="out")


def rows(i: Any) -> Any:
    return nl.ds(i * 128, 128)


def test_affine_and_sequential_ranges_roll() -> None:
    def kernel(x: Any) -> Any:
        out = output()
        for block in nl.affine_range(4):
            for _ in nl.sequential_range(1, 3):
                nl.store(out[rows(block)], nl.load(x[rows(block)]))
        return out

    module = traced(kernel)
    assert loops(module) == ["parallel block [0, 1, 2, 3]", "sequential _ [1, 2]"]
    x = np.random.default_rng(0).standard_normal((512, 64), dtype=np.float32)
    assert np.array_equal(functional.simulate(kernel)(x), x)


def test_static_range_and_range_unroll() -> None:
    def kernel(x: Any) -> Any:
        out = output()
        for i in nl.static_range(2):
            for j in range(2):
                nl.store(out[rows(2 * i + j)], nl.load(x[rows(2 * i + j)]))
        return out

    module = traced(kernel)
    assert loops(module) == []
    stores = [op for op in module.walk() if isinstance(op, penguin.SBAtomStoreOp)]
    assert len(stores) == 4


def test_all_ranges_of_the_destination_passing_language_unroll() -> None:
    def kernel(x: Any) -> Any:
        found: list[int] = []
        for i in unrolled.affine_range(2):
            for j in unrolled.sequential_range(1, 5, 2):
                found.append(10 * i + j)
        assert found == [1, 3, 11, 13]
        assert list(unrolled.static_range(3)) == [0, 1, 2]
        return x

    nki.trace(kernel)(X)


def in_int(x: Any) -> None:
    for i in nl.affine_range(4):
        int(i)


def in_float(x: Any) -> None:
    for i in nl.affine_range(4):
        float(i)


def in_range(x: Any) -> None:
    for i in nl.affine_range(4):
        for _ in range(i):
            pass


def in_list(x: Any) -> None:
    tiles = [1, 2, 3, 4]
    for i in nl.affine_range(4):
        tiles[i]


def in_nested_bound(x: Any) -> None:
    for i in nl.affine_range(4):
        for _ in nl.affine_range(i):
            pass


def zipped(x: Any) -> None:
    for _ in zip(nl.affine_range(4), range(4), strict=True):
        pass


def enumerated(x: Any) -> None:
    for _ in enumerate(nl.affine_range(4)):
        pass


def listed(x: Any) -> None:
    list(nl.affine_range(4))


def comprehended(x: Any) -> None:
    [nl.load(x[rows(i)]) for i in nl.affine_range(4)]


def measured(x: Any) -> None:
    len(nl.affine_range(4))


def broken(x: Any) -> Any:
    out = output()
    for i in nl.affine_range(4):
        nl.store(out[rows(i)], nl.load(x[rows(i)]))
        break
    return out


def broken_and_going_on(x: Any) -> Any:
    out = output()
    for i in nl.affine_range(4):
        if x.shape[0] == 512:
            break
        nl.store(out[rows(i)], nl.load(x[rows(i)]))
    nl.store(out[rows(0)], nl.load(x[rows(0)]))
    return out


def returned(x: Any) -> Any:
    out = output()
    for i in nl.affine_range(4):
        nl.store(out[rows(i)], nl.load(x[rows(i)]))
        return out


def used_after(x: Any) -> None:
    tile = None
    for i in nl.affine_range(4):
        tile = nl.load(x[rows(i)])
    nl.exp(tile)


def index_after(x: Any) -> None:
    i: Any = 0
    for i in nl.affine_range(4):
        pass
    nl.load(x[rows(i)])


def backwards(x: Any) -> None:
    for _ in nl.affine_range(4, 0, -1):
        pass


def from_a_tile(x: Any) -> None:
    for _ in nl.affine_range(nl.load(x[0:128])):
        pass


BODY = (
    "the body of an affine_range or sequential_range is traced once; use static_range"
)
ONLY_FOR = "can only be the iterable of a for statement"
LEFT = "break, return or an exception left the body of an affine_range"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (in_int, BODY),
        (in_float, BODY),
        (in_range, "range(), or indexing a Python sequence, needs the value of a loop"),
        (in_list, "range(), or indexing a Python sequence, needs the value of a loop"),
        (in_nested_bound, "loop bounds must be known while tracing, got i"),
        (zipped, ONLY_FOR),
        (enumerated, ONLY_FOR),
        (listed, ONLY_FOR),
        (comprehended, ONLY_FOR),
        (measured, "affine_range has no length"),
        (broken, LEFT),
        (broken_and_going_on, LEFT),
        (returned, LEFT),
        (used_after, "Local variable 'tile' is referenced outside of its parent scope"),
        (index_after, "Loop index 'i' is used outside of its loop"),
        (backwards, "step of a loop must be positive, got -1"),
        (from_a_tile, "loop bounds must be int, got Tile"),
    ],
)
def test_refused(kernel: Kernel, message: str) -> None:
    with pytest.raises(NKIError) as raised:
        traced(kernel)
    assert message in raised.value.message
    place = raised.value.location
    assert place is not None
    assert place.file == __file__
    code = kernel.__code__
    lines = [line for _, _, line in code.co_lines() if line is not None]
    assert min(lines) < place.line <= max(lines)


def test_a_loop_left_by_an_exception_of_the_kernel_keeps_the_exception() -> None:
    def kernel(x: Any) -> None:
        for _ in nl.affine_range(4):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        traced(kernel)
