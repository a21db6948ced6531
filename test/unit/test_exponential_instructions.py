"""Exponentials and activations with two ALU stages, in the machine."""

import numpy as np
from machines import compute, random, run

F32 = np.float32


def test_exponential_of_a_difference() -> None:
    a, top = random((16, 4, 10)), random((16, 1), 1)
    body = "penguin.exponential %t <- %x0, max_value = %x1"
    text = compute(body, "16x4x10xf32", "16x1xf32", out="16x40xf32")
    (result,) = run(text, a, top)
    assert np.array_equal(result, np.exp(a.reshape(16, 40) - top))


def test_exponential_and_its_sums() -> None:
    a = random((16, 40))
    body = """
    %r = penguin.alloc : <16x1xf32, sbuf>
    penguin.exponential_reduce %t[0, 0][1 x 16, 1 x 40] <- %x0,
        reduce_res = %r {max_value_imm = 2.0}
    penguin.tensor_copy %t[0, 40][1 x 16, 1 x 1] <- %r
    """
    (result,) = run(compute(body, "16x40xf32", out="16x41xf32"), a)
    expected = np.exp(a - F32(2))
    assert np.array_equal(result[:, :40], expected)
    assert np.array_equal(result[:, 40], expected.sum(axis=1))


def test_activation_of_two_stages() -> None:
    a, s = random((16, 40)), random((16, 1), 1)
    body = (
        "penguin.activate2 Square %t <- %x0, scalar0 = %x1 "
        "{op0 = mult, op1 = subtract, imm1 = 3.0, reverse1}"
    )
    (result,) = run(compute(body, "16x40xf32", "16x1xf32", out="16x40xf32"), a, s)
    assert np.array_equal(result, np.square(F32(3) - a * s))


def test_activation_without_stages() -> None:
    a = random((16, 40))
    body = "penguin.activate2 Prelu %t <- %x0 {alpha = 0.25}"
    (result,) = run(compute(body, "16x40xf32", out="16x40xf32"), a)
    assert np.array_equal(result, np.where(a > 0, a, a * F32(0.25)))
