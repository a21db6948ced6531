"""Elementwise instructions: kernels, shapes, masks, aliases."""

import ml_dtypes
import numpy as np
import pytest
from machines import Array, compute, program, random, run

from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine import MachineError
from xdsl_neuron.numerics.casts import cast

BF16 = ml_dtypes.bfloat16


def test_tensor_tensor_adds() -> None:
    a, b = random((128, 64)), random((128, 64), 1)
    text = compute(
        "penguin.tensor_tensor add %t <- %x0, %x1",
        "128x64xf32",
        "128x64xf32",
        out="128x64xf32",
    )
    (result,) = run(text, a, b)
    assert np.array_equal(result, a + b)


@pytest.mark.parametrize("dtype", [DType.BFLOAT16, DType.UINT8, DType.FLOAT8_E4M3])
def test_result_is_cast(dtype: DType) -> None:
    a = random((32, 8)) * 300
    text = compute(
        "penguin.tensor_scalar_ptr mult %t <- %x0 {imm0 = 2.0}",
        "32x8xf32",
        out=f"32x8x{dtype.ir_name}",
    )
    (result,) = run(text, a)
    expected = cast(a * np.float32(2), DType.FLOAT32, dtype)
    assert result.tobytes() == expected.tobytes()


def test_tensor_scalar_with_columns() -> None:
    a, s, b = random((16, 40)), random((16, 1), 1), random((16, 1), 2).astype(BF16)
    text = compute(
        "penguin.tensor_scalar_ptr subtract %t <- %x0, scalar0 = %x1, scalar1 = %x2 "
        "{op1 = mult, reverse0}",
        "16x40xf32",
        "16x1xf32",
        "16x1xbf16",
        out="16x40xf32",
    )
    (result,) = run(text, a, s, b)
    assert np.array_equal(result, (s - a) * b.astype(np.float32))


def test_native_integers_wrap_and_others_go_through_fp32() -> None:
    a = np.full((2, 4), 2**31 - 1, np.int32)
    body = "penguin.tensor_tensor add %t <- %x0, %x0 {engine = ENGINE}"
    text = compute(body, "2x4xi32", out="2x4xi32")
    (native,) = run(text.replace("ENGINE", "Pool"), a)
    assert native.tolist() == [[-2] * 4] * 2
    (through_fp32,) = run(text.replace("ENGINE", "DVE"), a)
    assert through_fp32.tolist() == [[2**31 - 1] * 4] * 2


def test_bit_operation_on_columns() -> None:
    a = np.arange(32, dtype=np.uint8).reshape(4, 8)
    s = np.array([[1], [3], [5], [255]], np.uint8)
    text = compute(
        "penguin.tensor_scalar_ptr bitwise_and %t <- %x0, scalar0 = %x1 "
        "{op1 = bitwise_or, imm1 = 64}",
        "4x8xu8",
        "4x1xu8",
        out="4x8xu8",
    )
    (result,) = run(text, a, s)
    assert np.array_equal(result, (a & s) | 64)


def test_activation_with_scale_and_bias() -> None:
    a, bias, scale = random((8, 16)), random((8, 1), 1), random((8, 1), 2)
    text = compute(
        "penguin.activation Exp %t <- %x0, bias = %x1, scale = %x2",
        "8x16xf32",
        "8x1xf32",
        "8x1xf32",
        out="8x16xf32",
    )
    (result,) = run(text, a, bias, scale)
    assert np.array_equal(result, np.exp(a * scale + bias))


def test_activation_immediates_and_reciprocal() -> None:
    a = random((8, 16)) ** 2 + 1
    text = compute(
        "penguin.activation Square %t <- %x0 {scale_imm = 2, bias_imm = 1.0}\n"
        "penguin.reciprocal %t <- %t",
        "8x16xf32",
        out="8x16xf32",
    )
    (result,) = run(text, a)
    two, one = np.float32(2), np.float32(1)
    assert np.array_equal(result, np.reciprocal(np.square(a * two + one)))


def test_memset_and_iota() -> None:
    text = compute(
        "penguin.memset %t {value = 7}\n"
        "penguin.index_value %t[1, 0][1 x 3, 1 x 5] {value = l0 * 10 + (l1) mod 2 + 1}",
        out="4x5xi32",
    )
    (result,) = run(text)
    rows, columns = np.arange(3)[:, None], np.arange(5)
    expected = np.full((4, 5), 7, np.int32)
    expected[1:] = rows * 10 + columns % 2 + 1
    assert np.array_equal(result, expected)


def test_iota_in_a_loop() -> None:
    text = compute(
        "penguin.for sequential %i = 0 to 4 {\n"
        "penguin.index_value %t[%i, 0][1 x 1, 1 x 5] {value = %i * -7 + (%i + l1) "
        "floordiv 3}\n}",
        out="4x5xf32",
    )
    (result,) = run(text)
    i, j = np.arange(4)[:, None], np.arange(5)
    assert np.array_equal(result, (i * -7 + (i + j) // 3).astype(np.float32))


def test_copy_predicated_and_select() -> None:
    a, b = random((4, 6)), random((4, 6), 1)
    p = (a > 0).astype(np.uint8)
    text = compute(
        "penguin.tensor_copy %t <- %x0\n"
        "penguin.tensor_copy_predicated %t <- %x2, src = %x1 {reverse}\n"
        "penguin.tensor_select %t <- %x2, on_true = %t {false_imm = -1.0}",
        "4x6xf32",
        "4x6xf32",
        "4x6xu8",
        out="4x6xf32",
    )
    (result,) = run(text, a, b, p)
    assert np.array_equal(result, np.where(p, a, np.float32(-1)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("[0, 0][1 x 4, 1 x 24]", "[0, 0][1 x 4, 6 x 4, 1 x 6]"),
        ("[0, 0][1 x 4, 8 x 3, 1 x 8]", "[0, 0][1 x 4, 1 x 6, 6 x 4]"),
        ("[0, 23][1 x 4, -1 x 24]", "[0, 0][1 x 4, 0 x 4, 1 x 6]"),
        ("[0, 0][1 x 4, 1 x 4, 4 x 6]", "[0, 0][1 x 4, 1 x 6, 6 x 4]"),
    ],
)
def test_operands_of_different_ranks(left: str, right: str) -> None:
    a, b = random((4, 24)), random((4, 24), 1)
    text = compute(
        f"penguin.tensor_tensor subtract %t <- %x0{left}, %x1{right}",
        "4x24xf32",
        "4x24xf32",
        out="4x24xf32",
    )
    (result,) = run(text, a, b)

    def walk(x: Array, access: str) -> Array:
        pairs = access.split("][")[1].rstrip("]").split(", ")[1:]
        start = int(access.split("]")[0].split(", ")[1])
        offsets = np.array([start])
        for step, num in (map(int, pair.split(" x ")) for pair in pairs):
            offsets = (offsets[:, None] + step * np.arange(num)).reshape(-1)
        return x[:, offsets]

    assert np.array_equal(result, walk(a, left) - walk(b, right))


def test_overlapping_copies_read_all_before_they_write() -> None:
    a = random((4, 24))
    text = compute(
        "%p = penguin.alloc : <4x24xf32, psum>\n"
        "penguin.tensor_copy %p <- %x0\n"
        "penguin.tensor_copy %p[0, 1][1 x 4, 1 x 23] <- %p[0, 0][1 x 4, 1 x 23]\n"
        "penguin.tensor_copy %t <- %p",
        "4x24xf32",
        out="4x24xf32",
    )
    (result,) = run(text, a)
    assert np.array_equal(result, np.concatenate([a[:, :1], a[:, :-1]], axis=1))


def test_in_place_two_stages_with_own_column() -> None:
    a = random((4, 24))
    text = compute(
        "penguin.tensor_scalar_ptr subtract %x0 <- %x0, "
        "scalar0 = %x0[0, 3][1 x 4, 1 x 1], scalar1 = %x0[0, 5][1 x 4, 1 x 1] "
        "{op1 = mult}\n"
        "penguin.tensor_copy %t <- %x0",
        "4x24xf32",
        out="4x24xf32",
    )
    (result,) = run(text, a)
    assert np.array_equal(result, (a - a[:, 3:4]) * a[:, 5:6])


def test_access_of_another_type_reinterprets() -> None:
    a = random((4, 8))
    text = compute(
        "penguin.tensor_copy %t[0, 0][1 x 4, 1 x 16] as u16 "
        "<- %x0[0, 0][1 x 4, 1 x 16] as u16\n"
        "penguin.memset %t[0, 1][1 x 4, 2 x 8] as u16 {value = 0}",
        "4x8xf32",
        out="4x8xf32",
    )
    (result,) = run(text, a)
    expected = a.copy()
    expected.view(np.uint16)[:, 1::2] = 0
    assert result.tobytes() == expected.tobytes()


BOX = "where 2 - l0 >= 0 and l1 - 4 >= 0"


def test_box_mask_keeps_the_rest() -> None:
    a, b = random((4, 24)), random((4, 24), 1)
    text = compute(
        "penguin.tensor_copy %t <- %x0\n"
        f"penguin.tensor_tensor add %t <- %x0, %x1 {BOX}",
        "4x24xf32",
        "4x24xf32",
        out="4x24xf32",
    )
    (result,) = run(text, a, b)
    expected = a.copy()
    expected[:3, 4:] += b[:3, 4:]
    assert np.array_equal(result, expected)


def test_mask_clips_operands_of_another_rank() -> None:
    a, b = random((4, 24)), random((4, 24), 1)
    text = compute(
        "penguin.tensor_copy %t <- %x0\n"
        "penguin.tensor_scalar_ptr add %t <- %x1[0, 0][1 x 4, 6 x 4, 1 x 6], "
        f"scalar0 = %x0[0, 0][1 x 4, 24 x 1, 1 x 1] {BOX}",
        "4x24xf32",
        "4x24xf32",
        out="4x24xf32",
    )
    (result,) = run(text, a, b)
    expected = a.copy()
    expected[:3, 4:] = b[:3, 4:] + a[:3, :1]
    assert np.array_equal(result, expected)


RESIDUAL = "where l0 * 5 - l1 >= 0"


@pytest.mark.parametrize(
    "instruction",
    [
        "tensor_tensor add %t <- %x0, %x1",
        "tensor_copy %t <- %x0",
        "tensor_scalar_ptr mult %t <- %x0, scalar0 = %x1[0, 2][1 x 4, 1 x 1]",
        "memset %t",
        "activation Tanh %t <- %x0",
    ],
)
def test_residual_mask_writes_only_where_it_holds(instruction: str) -> None:
    a, b = random((4, 24)), random((4, 24), 1)
    fields = " {value = 3.0}" if "memset" in instruction else ""
    types = ("4x24xf32", "4x24xf32")
    before = "penguin.tensor_copy %t <- %x1\n"
    plain = compute(f"penguin.{instruction}{fields}", *types, out=types[0])
    (whole,) = run(plain, a, b)
    text = compute(
        f"{before}penguin.{instruction} {RESIDUAL}{fields}", *types, out=types[0]
    )
    (result,) = run(text, a, b)
    mask = np.arange(4)[:, None] * 5 >= np.arange(24)
    assert np.array_equal(result, np.where(mask, whole, b))


def test_residual_mask_of_a_predicated_copy() -> None:
    a, b = random((4, 24)), random((4, 24), 1)
    p = (a > 0).astype(np.uint8)
    text = compute(
        "penguin.tensor_copy %t <- %x1\n"
        f"penguin.tensor_copy_predicated %t <- %x2, src = %x0 {RESIDUAL}",
        "4x24xf32",
        "4x24xf32",
        "4x24xu8",
        out="4x24xf32",
    )
    (result,) = run(text, a, b, p)
    mask = np.arange(4)[:, None] * 5 >= np.arange(24)
    assert np.array_equal(result, np.where(mask & (p != 0), a, b))


def test_mask_on_a_loop_index_drops_iterations() -> None:
    text = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.for sequential %i = 0 to 5 {\n"
        "penguin.tensor_scalar_ptr add %t <- %t where 2 - %i >= 0 {imm0 = 1.0}\n}",
        out="2x3xf32",
    )
    (result,) = run(text)
    assert result.tolist() == [[3.0] * 3] * 2


def test_masked_access_beyond_the_tile_is_clipped() -> None:
    a = random((4, 10))
    text = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.for sequential %i = 0 to 3 {\n"
        "penguin.tensor_copy %t[0, %i * 4][1 x 4, 1 x 4] <- %x0[0, %i * 4]"
        "[1 x 4, 1 x 4] where 9 - %i * 4 - l1 >= 0\n}",
        "4x10xf32",
        out="4x10xf32",
    )
    (result,) = run(text, a)
    assert np.array_equal(result, a)


def test_out_of_bounds_is_an_error_with_a_place() -> None:
    text = compute(
        "penguin.for sequential %i = 0 to 2000 {\n"
        "penguin.tensor_copy %t[0, %i][1 x 4, 1 x 1] <- %x0[0, 0][1 x 4, 1 x 1] "
        "where 1999 - %i - l0 >= 0 and l0 + %i + 5 >= 0\n}",
        "4x10xf32",
        out="4x10xf32",
    )
    with pytest.raises(MachineError, match="Out-of-bound access for tensor `t`") as e:
        program(text)
    place = e.value.diagnostics[0].location
    assert place is not None
    assert place.file == "test.mlir"
    assert "size of 10: in the iteration i = 10" in e.value.diagnostics[0].message


def test_mask_that_no_operand_can_follow_is_refused() -> None:
    a = random((4, 24))
    text = compute(
        "penguin.tensor_copy %t[0, 0][1 x 4, 1 x 24] <- %x0[0, 0][1 x 4, 1 x 6, 6 x 4] "
        "where l1 - 5 >= 0",
        "4x24xf32",
        out="4x24xf32",
    )
    with pytest.raises(MachineError, match="give all operands one shape"):
        run(text, a)


@pytest.mark.parametrize(
    ("target", "engine", "exact"),
    [
        ("trn1", "Activation", False),
        ("trn1", "DVE", True),
        ("trn1", "Unassigned", True),
        ("trn2", "Activation", True),
    ],
)
@pytest.mark.parametrize("where", ["", " where l0 - l1 + 40 >= 0"])
def test_a_copy_on_the_scalar_engine_of_trn1_goes_through_fp32(
    target: str, engine: str, exact: bool, where: str
) -> None:
    body = f"penguin.tensor_copy %t <- %x0{where} {{engine = {engine}}}"
    text = compute(body, "32x8xi32", out="32x8xi32")
    attributes = f"attributes {{neuron.target = #neuron.target<{target}>}}"
    text = f"builtin.module {attributes} {{{text}}}"
    x = np.arange(256, dtype=np.int32).reshape(32, 8) + 2**30
    (out,) = run(text, x)
    expected = x if exact else x.astype(np.float32).astype(np.int32)
    np.testing.assert_array_equal(out, expected)
