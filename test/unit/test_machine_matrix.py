"""Matmul with PSUM's freshness, transposes, reductions."""

import ml_dtypes
import numpy as np
import pytest
from machines import Array, compute, kernel, random, run

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.machine import MachineError

BF16 = ml_dtypes.bfloat16


def product(stationary: Array, moving: Array) -> Array:
    """The bits of a matmul."""
    left, right = np.ascontiguousarray(stationary), np.ascontiguousarray(moving)
    return np.matmul(left.astype(np.float32).T, right.astype(np.float32))


def psum(body: str, *inputs: str, out: str) -> str:
    """`body` works on PSUM tile `%p`, which is then copied out."""
    return compute(
        f"%p = penguin.alloc : <{out}, psum>\n{body}\npenguin.tensor_copy %t <- %p",
        *inputs,
        out=out,
    )


def test_auto_overwrites_fresh_and_joins_what_is_written() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    once = "penguin.matmul %p <- %x0, %x1\n"
    (one,) = run(psum(once, "16x8xf32", "16x12xf32", out="8x12xf32"), s, m)
    (three,) = run(psum(once * 3, "16x8xf32", "16x12xf32", out="8x12xf32"), s, m)
    expected = product(s, m)
    assert np.array_equal(one, expected)
    assert np.array_equal(three, expected + expected + expected)


def test_allocation_in_a_loop_is_fresh_in_every_iteration() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.for sequential %i = 0 to 3 {\n"
        "%p = penguin.alloc : <8x12xf32, psum>\n"
        "penguin.for sequential %k = 0 to 2 {\n"
        "penguin.matmul %p <- %x0, %x1\n}\n"
        "penguin.tensor_tensor add %t <- %t, %p\n}",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    one = product(s, m)
    two = one + one
    assert np.array_equal(result, two + two + two)


def test_partly_fresh_destination() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.matmul %p[0, 0][1 x 8, 1 x 6] <- %x0, %x1[0, 0][1 x 16, 1 x 6]\n"
        "penguin.matmul %p <- %x0, %x1",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    expected = np.zeros((8, 12), np.float32)
    expected[:, :6] = product(s, m[:, :6])
    assert np.array_equal(result, expected + product(s, m))


@pytest.mark.parametrize("columns", [4, 1])
def test_many_disjoint_parts(columns: int) -> None:
    s, m = random((16, 8)), random((16, 48), 1)
    text = psum(
        "penguin.for sequential %k = 0 to 2 {\n"
        f"penguin.for sequential %j = 0 to {48 // columns} {{\n"
        f"penguin.matmul %p[0, %j * {columns}][1 x 8, 1 x {columns}] <- %x0, "
        f"%x1[0, %j * {columns}][1 x 16, 1 x {columns}]\n}}\n}}",
        "16x8xf32",
        "16x48xf32",
        out="8x48xf32",
    )
    (result,) = run(text, s, m)
    parts = [product(s, m[:, j : j + columns]) for j in range(0, 48, columns)]
    one = np.concatenate(parts, axis=1)
    assert np.array_equal(result, one + one)


def test_a_write_by_another_engine_ends_freshness() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.memset %p {value = 1.0}\npenguin.matmul %p <- %x0, %x1",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    assert np.array_equal(result, product(s, m) + np.float32(1))


def test_masked_write_ends_freshness_where_it_writes() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.memset %p where l0 - l1 >= 0 {value = 1.0}\n"
        "penguin.matmul %p <- %x0, %x1",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    assert np.array_equal(result, np.tri(8, 12, dtype=np.float32) + product(s, m))


def test_explicit_flags() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.memset %p {value = 1.0}\n"
        "penguin.matmul %p <- %x0, %x1 {accumulate = overwrite}\n"
        "penguin.matmul %p <- %x0, %x1 {accumulate = accumulate}",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    assert np.array_equal(result, product(s, m) + product(s, m))


def test_accumulating_onto_nothing_shows_poison() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.matmul %p <- %x0, %x1 {accumulate = accumulate}",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    assert np.isnan(result).all()


def test_accumulate_if_is_decided_in_each_iteration() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.memset %p {value = 9.0}\n"
        "penguin.for sequential %k = 0 to 4 {\n"
        "penguin.matmul %p <- %x0, %x1 {accumulate_if = (%k) mod 2 - 1}\n}",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    assert np.array_equal(result, product(s, m) + product(s, m))


def test_bf16_operands_with_several_free_dimensions() -> None:
    s, m = random((16, 8)).astype(BF16), random((16, 12), 1).astype(BF16)
    text = psum(
        "penguin.matmul %p <- %x0, %x1[0, 0][1 x 16, 1 x 2, 2 x 6]",
        "16x8xbf16",
        "16x12xbf16",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    order = [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]
    assert np.array_equal(result, product(s, m[:, order]))


def test_mask_on_the_contraction_shortens_it() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.matmul %p <- %x0, %x1 where 9 - l0 >= 0 and 5 - l1 >= 0 and "
        "l2 - 2 >= 0",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    assert np.array_equal(result[:6, 2:], product(s[:10, :6], m[:10, 2:]))
    assert np.isnan(result[6:]).all()
    assert np.isnan(result[:, :2]).all()


def test_mask_of_one_operand_reads_zero() -> None:
    s, m = random((16, 8)), random((16, 12), 1)
    text = psum(
        "penguin.matmul %p <- %x0, %x1 where l0 - l2 >= 0",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    (result,) = run(text, s, m)
    assert np.array_equal(result, product(s, np.tril(m)))
    text = text.replace("l0 - l2", "l0 - l1")
    (result,) = run(text, s, m)
    assert np.array_equal(result, product(np.tril(s), m))


def test_mask_over_both_free_dimensions_is_refused() -> None:
    text = psum(
        "penguin.matmul %p <- %x0, %x1 where l1 - l2 >= 0",
        "16x8xf32",
        "16x12xf32",
        out="8x12xf32",
    )
    with pytest.raises(DiagnosticError, match="couples the stationary and the moving"):
        run(text, random((16, 8)), random((16, 12)))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "u8"])
def test_transpose_moves_bits(dtype: str) -> None:
    width = {"f32": 4, "bf16": 2, "u8": 1}[dtype]
    kinds = {"f32": np.float32, "bf16": BF16, "u8": np.uint8}
    raw = np.random.default_rng(0).integers(0, 256, (32, 16 * width), np.uint8)
    x = raw.view(kinds[dtype])
    text = compute(
        "penguin.transpose %t <- %x0", f"32x16x{dtype}", out=f"16x32x{dtype}"
    )
    (result,) = run(text, x)
    assert result.tobytes() == x.T.tobytes()


def test_transpose_within_a_tile_and_with_dimensions() -> None:
    x = random((16, 16))
    text = compute(
        "%u = penguin.alloc : <16x32xf32, sbuf>\n"
        "penguin.tensor_copy %u[0, 0][1 x 16, 1 x 16] <- %x0\n"
        "penguin.transpose %u[0, 16][1 x 16, 1 x 16] <- %u[0, 0][1 x 16, 1 x 16]\n"
        "penguin.transpose %t[0, 0][1 x 16, 1 x 4, 4 x 4] <- %u[0, 16][1 x 16, 1 x 16]",
        "16x16xf32",
        out="16x16xf32",
    )
    (result,) = run(text, x)
    order = [4 * (j % 4) + j // 4 for j in range(16)]
    expected = np.empty_like(x)
    expected[:, order] = x
    assert np.array_equal(result, expected)


def test_transpose_under_a_mask() -> None:
    x = random((16, 8))
    text = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.transpose %t <- %x0 where 9 - l0 >= 0 and l1 - 2 >= 0",
        "16x8xf32",
        out="8x16xf32",
    )
    (result,) = run(text, x)
    expected = np.zeros((8, 16), np.float32)
    expected[2:, :10] = x[:10, 2:].T
    assert np.array_equal(result, expected)


def test_transpose_mode_of_the_array_moves_bits() -> None:
    x = random((16, 8))
    x[3, 2] = np.nan
    text = psum(
        "penguin.matmul %p <- %x0, %x1 {is_transpose}",
        "16x8xf32",
        "16x16xf32",
        out="8x16xf32",
    )
    (result,) = run(text, x, np.eye(16, dtype=np.float32))
    assert result.tobytes() == x.T.tobytes()
    masked = text.replace("{is_", "where 9 - l0 >= 0 and 9 - l2 >= 0 {is_")
    (result,) = run(masked, x, np.eye(16, dtype=np.float32))
    assert result[:, :10].tobytes() == np.ascontiguousarray(x[:10].T).tobytes()
    assert np.isnan(result[:, 10:]).all()


def test_what_numerics_refuse_is_refused_at_the_operation() -> None:
    text = compute(
        "penguin.tensor_reduce add %t <- %x0 where l1 - l0 >= 0 {axes = [1]}",
        "8x24xf8e8m0fnu",
        out="8x1xu16",
        shape="8x1xf4e2m1fn_x4",
    )
    with pytest.raises(MachineError, match="cannot cast"):
        run(text.replace("%o <- %t", "%o <- %t[0, 0][1 x 8, 1 x 1] as u16"))


def test_reductions() -> None:
    x = random((8, 60))
    text = compute(
        "penguin.tensor_reduce add %t <- %x0[0, 0][1 x 8, 20 x 3, 1 x 20] "
        "{axes = [2], negate}",
        "8x60xf32",
        out="8x3xf32",
    )
    (result,) = run(text, x)
    rows = np.ascontiguousarray(x.reshape(8, 3, 20))
    assert np.array_equal(result, -np.add.reduce(rows, axis=-1))


FOLDS: dict[str, tuple[float, np.ufunc]] = {
    "add": (0, np.add),
    "max": (-np.inf, np.maximum),
    "min": (np.inf, np.minimum),
    "mult": (1, np.multiply),
}


@pytest.mark.parametrize("op", FOLDS)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32"])
def test_masked_reduction_reads_the_identity(op: str, dtype: str) -> None:
    kinds = {"f32": np.float32, "bf16": BF16, "i32": np.int32}
    x = (random((8, 24)) * 3).astype(kinds[dtype])
    text = compute(
        f"penguin.tensor_reduce {op} %t <- %x0 where l0 * 3 + 2 - l1 >= 0 "
        "{axes = [1]}",
        f"8x24x{dtype}",
        out="8x1xf32",
    )
    (result,) = run(text, x)
    mask = np.arange(8)[:, None] * 3 + 2 >= np.arange(24)
    identity, fold = FOLDS[op]
    values = np.where(mask, x.astype(np.float32), np.float32(identity))
    assert np.array_equal(result[:, 0], fold.reduce(values, axis=1))


def test_masked_bit_reduction() -> None:
    x = np.arange(48, dtype=np.int32).reshape(2, 24) + 7
    text = compute(
        "penguin.tensor_reduce bitwise_and %t <- %x0 where l0 * 3 + 2 - l1 >= 0 "
        "{axes = [1]}",
        "2x24xi32",
        out="2x1xi32",
    )
    (result,) = run(text, x)
    assert result.tolist() == [
        [np.bitwise_and.reduce(x[0, :3])],
        [np.bitwise_and.reduce(x[1, :6])],
    ]


def test_box_mask_shortens_a_reduction() -> None:
    x = random((8, 24))
    text = compute(
        "penguin.memset %t {value = 5.0}\n"
        "penguin.tensor_reduce add %t <- %x0 where 9 - l1 >= 0 and 3 - l0 >= 0 "
        "{axes = [1]}",
        "8x24xf32",
        out="8x1xf32",
    )
    (result,) = run(text, x)
    assert np.array_equal(result[:4, 0], np.ascontiguousarray(x[:4, :10]).sum(axis=1))
    assert (result[4:] == 5).all()


def test_identity_constant() -> None:
    x = random((8, 8))
    text = kernel(
        "%i = penguin.constant identity : <8x8xf32, hbm>\n"
        "%w = penguin.constant splat 2.0 : <8x8xf32, hbm>\n"
        "%t = penguin.alloc : <8x8xf32, sbuf>\n"
        "%u = penguin.alloc : <8x8xf32, sbuf>\n"
        "%v = penguin.alloc : <8x8xf32, sbuf>\n"
        "%p = penguin.alloc : <8x8xf32, psum>\n"
        "penguin.sb_atom_load %t <- %i\n"
        "penguin.sb_atom_load %u <- %a\n"
        "penguin.sb_atom_load %v <- %w\n"
        "penguin.matmul %p <- %t, %u\n"
        "penguin.tensor_tensor mult %v <- %p, %v\n"
        "penguin.sb_atom_store %o <- %v\n",
        "a = %a: !neuron.tensor<8x8xf32, hbm>",
        "o",
        "<8x8xf32, hbm>",
    )
    (result,) = run(text, x)
    assert np.array_equal(result, x * 2)
