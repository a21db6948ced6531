"""Random access patterns, against one address after another."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings, strategies as st
from machines import Array, compute, kernel, random, run

from xdsl_neuron.geometry.pattern import Pattern

SIZE = 120
"""Elements of the tensors that are accessed."""


@st.composite
def factors(draw: st.DrawFn, count: int) -> tuple[int, ...]:
    """Extents whose product is `count`."""
    found: list[int] = []
    while count > 1:
        divisor = draw(
            st.sampled_from([d for d in range(2, count + 1) if not count % d])
        )
        found.append(divisor)
        count //= divisor
    return tuple(found)


@st.composite
def patterns(draw: st.DrawFn, count: int, distinct: bool) -> Pattern:
    """A pattern of `count` addresses below `SIZE`."""
    nums = draw(factors(count))
    while True:
        if distinct:
            order = draw(st.permutations(range(len(nums))))
            steps, step = [0] * len(nums), 1
            for dim in order:
                steps[dim] = step
                step *= nums[dim] + draw(st.integers(0, 1))
        else:
            steps = [draw(st.integers(-3, 5)) for _ in nums]
        pattern = Pattern(0, tuple(zip(steps, nums, strict=True)))
        low, high = pattern.bounds()
        if high - low < SIZE:
            return pattern.shift(draw(st.integers(-low, SIZE - 1 - high)))


def text(pattern: Pattern, partition: str = "") -> str:
    pairs = ", ".join(f"{step} x {num}" for step, num in pattern.pairs or ((1, 1),))
    first = f"1 x {partition}, " if partition else ""
    start = f"0, {pattern.start}" if partition else str(pattern.start)
    return f"[{start}][{first}{pairs}]"


def addresses(pattern: Pattern) -> list[int]:
    return list(pattern.addresses())


COUNTS: Sequence[int] = (1, 6, 12, 24, 30)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_transfers(data: st.DataObject) -> None:
    count = data.draw(st.sampled_from(COUNTS))
    dtype = data.draw(st.sampled_from(["u8", "u16", "f32"]))
    src = data.draw(patterns(count, False))
    dst = data.draw(patterns(count, True))
    kind = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32}[dtype]
    a = np.arange(SIZE).astype(kind)
    module = kernel(
        f"penguin.dma_copy %o <- %b\npenguin.dma_copy %o{text(dst)} <- %a{text(src)}",
        f"a = %a: !neuron.tensor<{SIZE}x{dtype}, hbm>, "
        f"b = %b: !neuron.tensor<{SIZE}x{dtype}, hbm>",
        "o",
        f"<{SIZE}x{dtype}, hbm>",
    )
    b = (200 - a).astype(kind)
    (result,) = run(module, a, b)
    expected = b.copy()
    expected[addresses(dst)] = a[addresses(src)]
    assert np.array_equal(result, expected)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_elementwise(data: st.DataObject) -> None:
    count = data.draw(st.sampled_from(COUNTS))
    dst = data.draw(patterns(count, True))
    lhs, rhs = (data.draw(patterns(count, False)) for _ in range(2))
    shape = f"3x{SIZE}xf32"
    access = [text(pattern, "3") for pattern in (dst, lhs, rhs)]
    module = compute(
        "penguin.memset %t {value = 0.0}\n"
        f"penguin.tensor_tensor subtract %t{access[0]} <- %x0{access[1]}, "
        f"%x1{access[2]}",
        shape,
        shape,
        out=shape,
    )
    a, b = random((3, SIZE)), random((3, SIZE), 1)
    (result,) = run(module, a, b)
    expected: Array = np.zeros((3, SIZE), np.float32)
    expected[:, addresses(dst)] = a[:, addresses(lhs)] - b[:, addresses(rhs)]
    assert np.array_equal(result, expected)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_masks(data: st.DataObject) -> None:
    """Random predicates over two lanes and a loop index, element by element."""
    terms = st.integers(-3, 3)
    predicates = data.draw(
        st.lists(st.tuples(st.integers(-4, 12), terms, terms, terms), max_size=3)
    )
    where = " and ".join(
        f"{c} + %i * {i} + l0 * {p} + l1 * {f} >= 0" for c, i, p, f in predicates
    )
    clause = f" where {where}" if where else ""
    module = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.for sequential %i = 0 to 3 {\n"
        f"penguin.tensor_scalar_ptr add %t <- %t{clause} {{imm0 = 1.0}}\n"
        f"penguin.dma_copy %t <- %x0{clause}\n"
        f"penguin.tensor_scalar_ptr add %t <- %t{clause} {{imm0 = 1.0}}\n}}",
        "5x7xf32",
        out="5x7xf32",
    )
    a = random((5, 7))
    (result,) = run(module, a)
    expected = np.zeros((5, 7), np.float32)
    rows, columns = np.mgrid[:5, :7]
    for step in range(3):
        keep = np.ones((5, 7), np.bool_)
        for c, i, p, f in predicates:
            keep &= c + step * i + rows * p + columns * f >= 0
        expected[keep] = a[keep] + np.float32(1)
    assert np.array_equal(result, expected)
