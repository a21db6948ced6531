"""Scalars that are constants of their instruction, and rows that are replicated."""

import ml_dtypes
import numpy as np
import pytest
from levels import after
from machines import Array, compute, kernel, random, run

from xdsl_neuron.dtypes import DType
from xdsl_neuron.numerics.casts import cast, storage
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

BF16 = ml_dtypes.bfloat16
F32 = np.float32
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4028235e38, -2.5], F32
).reshape(1, 9)
INTEGERS = np.array([-(2**31), -1, 0, 1, 2**31 - 1, 2**24 + 1], np.int32).reshape(1, 6)


def levels(text: str, *arrays: Array) -> list[Array]:
    """The outputs, which all levels must give in every bit."""
    expected = run(text, *arrays)
    bir = after(text, PenguinToBir())
    for lowered in (bir, after(bir, BirToDma()), after(bir, BirToDma(1))):
        again = run(lowered, *arrays)
        assert [a.tobytes() for a in again] == [a.tobytes() for a in expected]
    return expected


@pytest.mark.parametrize("const", ["0.0", "-0.0", "inf", "-1.5", "1e-45", "nan"])
def test_stages_on_special_values(const: str) -> None:
    """`(const0 - x) max const1`, one stage, and the same by operands."""
    number = F32(const)
    text = compute(
        f"penguin.tensor_scalar subtract %t <- %x0 {{const0 = {const}, reverse0, "
        "op1 = max, const1 = -1.0}",
        "1x9xf32",
        out="1x9xf32",
    )
    by_operands = text.replace("tensor_scalar ", "tensor_scalar_ptr ").replace(
        "const0", "imm0"
    )
    by_operands = by_operands.replace("const1", "imm1")
    (result,) = levels(text, SPECIAL)
    (same,) = levels(by_operands, SPECIAL)
    assert result.tobytes() == same.tobytes()
    with np.errstate(all="ignore"):
        assert np.array_equal(
            result, np.maximum(number - SPECIAL, F32(-1)), equal_nan=True
        )
    one = compute(
        f"penguin.tensor_scalar mult %t <- %x0 {{const0 = {const}}}",
        "1x9xf32",
        out="1x9xbf16",
    )
    (result,) = levels(one, SPECIAL)
    with np.errstate(all="ignore"):
        product = SPECIAL * number
    expected = cast(product, DType.FLOAT32, DType.BFLOAT16)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("const", [0, -1, 2**31 - 1, -(2**31)])
def test_bits_of_integers(const: int) -> None:
    text = compute(
        f"penguin.tensor_scalar bitwise_and %t <- %x0 {{const0 = {const}, "
        "op1 = bitwise_xor, const1 = -2147483648}",
        "1x6xi32",
        out="1x6xi32",
    )
    (result,) = levels(text, INTEGERS)
    assert np.array_equal(result, (INTEGERS & np.int32(const)) ^ np.int32(-(2**31)))


def test_arithmetic_on_integers_goes_through_fp32() -> None:
    text = compute(
        "penguin.tensor_scalar add %t <- %x0 {const0 = 1}", "1x6xi32", out="1x6xi32"
    )
    (result,) = levels(text, INTEGERS)
    wide = INTEGERS.astype(F32) + F32(1)
    assert np.array_equal(result, cast(wide, DType.FLOAT32, DType.INT32))


@pytest.mark.parametrize("rows", [1, 3, 16])
@pytest.mark.parametrize("kinds", ["f32 f32", "bf16 f32", "i32 f32", "u8 u8"])
def test_rows_are_copied_again_and_again(rows: int, kinds: str) -> None:
    to, source = kinds.split()
    text = kernel(
        f"%t = penguin.alloc : <48x9x{to}, sbuf>\n"
        "penguin.neuron_replicate_ap %t <- %a\n"
        f"penguin.dma_copy %o <- %t",
        f"a = %a: !neuron.tensor<{rows}x9x{source}, hbm>",
        "o",
        f"<48x9x{to}, hbm>",
    )
    types = {"f32": DType.FLOAT32, "bf16": DType.BFLOAT16, "i32": DType.INT32}
    if source == "u8":
        given = np.arange(rows * 9, dtype=np.uint8).reshape(rows, 9)
        expected = np.tile(given, (48 // rows, 1))
    else:
        given = np.tile(SPECIAL, (rows, 1))
        given[:, -1] = np.arange(rows)
        moved = cast(given, types[source], types[to])
        expected = np.tile(moved.view(storage(types[to])), (48 // rows, 1))
    (result,) = levels(text, given)
    assert result.tobytes() == expected.tobytes()


def test_a_wide_row_takes_several_descriptors() -> None:
    """A run has at most 65536 bytes; strided on one side, from HBM to HBM."""
    a = random((2, 40000))
    text = kernel(
        "penguin.neuron_replicate_ap %o[0][80000 x 4, 2 x 40000] <- %a\n"
        "penguin.neuron_replicate_ap %o[1][80000 x 4, 2 x 40000] <- %a",
        "a = %a: !neuron.tensor<2x40000xf32, hbm>",
        "o",
        "<4x80000xf32, hbm>",
    )
    (result,) = levels(text, a)
    assert np.array_equal(result, np.tile(np.repeat(a, 2, axis=1), (2, 1)))
    lowered = after(after(text, PenguinToBir()), BirToDma())
    assert lowered.count("dma.replicate f32 f32") == 6
