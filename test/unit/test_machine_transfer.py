"""DMA: direct, indirect, accumulating, transposing; descriptors and triggers."""

import ml_dtypes
import numpy as np
import pytest
from machines import STREAMED, Array, kernel, parsed, program as prepared, random, run

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine import MachineError, prepare
from xdsl_neuron.numerics.casts import cast

BF16 = ml_dtypes.bfloat16


def copy(access: str, shape: str, result: str) -> str:
    """A DMA from an access of `%a` into the output."""
    return kernel(
        f"penguin.dma_copy %o <- %a{access}",
        f"a = %a: !neuron.tensor<{shape}, hbm>",
        "o",
        f"<{result}, hbm>",
    )


@pytest.mark.parametrize("dtype", ["u8", "bf16", "f32", "i64"])
@pytest.mark.parametrize(
    ("access", "index"),
    [
        ("", np.s_[:, :]),
        ("[0][24 x 10, 2 x 12]", np.s_[:, ::2]),
        ("[239][-24 x 10, -1 x 24]", np.s_[::-1, ::-1]),
        ("[24][24 x 4, 1 x 24]", np.s_[1:5]),
        ("[1][24 x 10, 1 x 7]", np.s_[:, 1:8]),
    ],
)
def test_raw_words(dtype: str, access: str, index: tuple[slice, ...]) -> None:
    kind = {"u8": np.uint8, "bf16": BF16, "f32": np.float32, "i64": np.int64}[dtype]
    count = 240 * np.dtype(kind).itemsize
    a = np.random.default_rng(0).integers(0, 256, count, np.uint8).view(kind)
    a = a.reshape(10, 24)
    expected = np.ascontiguousarray(a[index])
    rows, columns = expected.shape
    text = copy(access, f"10x24x{dtype}", f"{rows}x{columns}x{dtype}")
    (result,) = run(text, a)
    assert result.tobytes() == expected.tobytes()


def test_cast_through_fp32() -> None:
    a = np.array([[2**24 + 1, -5, 300, 7]], np.int32)
    (result,) = run(copy("", "1x4xi32", "1x4xu8"), a)
    assert result.tolist() == [[255, 0, 255, 7]]
    (result,) = run(copy("", "1x4xi32", "1x4xbf16"), a)
    assert result.tobytes() == cast(a, DType.INT32, DType.BFLOAT16).tobytes()


def test_shapes_without_a_common_nest() -> None:
    a = np.arange(6, dtype=np.float32).reshape(1, 6)
    text = kernel(
        "penguin.dma_copy %o[0][3 x 2, 1 x 3] <- %a[0][1 x 3, 3 x 2]",
        "a = %a: !neuron.tensor<1x6xf32, hbm>",
        "o",
        "<1x6xf32, hbm>",
    )
    (result,) = run(text, a)
    assert result.tolist() == [[0, 3, 1, 4, 2, 5]]


def test_ragged_edge_by_a_mask() -> None:
    a = random((300, 8))
    text = kernel(
        "penguin.for parallel %i = 0 to 3 {\n"
        "%t = penguin.alloc init 2.0 : <128x8xf32, sbuf>\n"
        "penguin.sb_atom_load %t <- %a[%i * 1024][8 x 128, 1 x 8] "
        "where 299 - %i * 128 - l0 >= 0\n"
        "penguin.sb_atom_store %o[%i * 1024][8 x 128, 1 x 8] <- %t\n}",
        "a = %a: !neuron.tensor<300x8xf32, hbm>",
        "o",
        "<384x8xf32, hbm>",
    )
    (result,) = run(text, a)
    assert np.array_equal(result[:300], a)
    assert (result[300:] == 2).all()


def test_residual_mask_is_one_box_a_row() -> None:
    a = random((12, 12))
    text = kernel(
        "%t = penguin.alloc init 0.0 : <12x12xf32, sbuf>\n"
        "penguin.sb_atom_load %t <- %a where l0 - l1 >= 0\n"
        "penguin.sb_atom_store %o <- %t",
        "a = %a: !neuron.tensor<12x12xf32, hbm>",
        "o",
        "<12x12xf32, hbm>",
    )
    (result,) = run(text, a)
    assert np.array_equal(result, np.tril(a))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_accumulating_store(dtype: str) -> None:
    kind = {"f32": np.float32, "bf16": BF16}[dtype]
    a, b = random((4, 8)).astype(kind), random((4, 8), 1).astype(kind)
    text = f"""
    penguin.func @f(a = %a: !neuron.tensor<4x8x{dtype}, hbm>,
                    inout b = %b: !neuron.tensor<4x8x{dtype}, hbm>) {{
      %t = penguin.alloc : <4x8x{dtype}, sbuf>
      penguin.sb_atom_load %t <- %a
      penguin.for sequential %i = 0 to 3 {{
        penguin.sb_atom_store %b <- %t {{rmw_op = add}}
      }}
      penguin.return b = %b
    }}
    """
    given = b.copy()
    (result,) = prepared(text).run([a, given])
    expected = b
    for _ in range(3):
        total = expected.astype(np.float32) + a.astype(np.float32)
        expected = total.astype(kind)
    assert result is given
    assert result.tobytes() == expected.tobytes()


INDIRECT = """
    penguin.func @f(a = %a: !neuron.tensor<10x6xf32, hbm>,
                    i = %i: !neuron.tensor<4x1xi32, hbm>,
                    inout b = %b: !neuron.tensor<10x6xf32, hbm>) {
      %o = penguin.alloc : <4x6xf32, hbm>
      %n = penguin.alloc : <4x1xi32, sbuf>
      %t = penguin.alloc : <4x6xf32, sbuf>
      penguin.sb_atom_load %n <- %i
      penguin.memset %t {value = 5.0}
      OP
      penguin.sb_atom_store %o <- %t
      penguin.return o = %o, b = %b
    }
"""
GATHER = INDIRECT.replace(
    "OP",
    "penguin.neuron_indirect_load %t <- %a[0][6 x 4, 1 x 6], %n "
    "{max_index = 10, oob = OOB}",
)
SCATTER = INDIRECT.replace(
    "OP",
    "penguin.sb_atom_load %t <- %a[0][6 x 4, 1 x 6]\n"
    "penguin.neuron_indirect_save %b[0][6 x 4, 1 x 6] <- %t, %n "
    "{max_index = 10, oob = OOB}",
)
ACCUMULATE = INDIRECT.replace(
    "OP",
    "penguin.sb_atom_load %t <- %a[0][6 x 4, 1 x 6]\n"
    "penguin.neuron_indirect_rmw %b[0][6 x 4, 1 x 6] <- %t, %n {max_index = 10}",
)


def indices(*values: int) -> Array:
    """One index per partition."""
    return np.array(values, np.int32).reshape(-1, 1)


@pytest.mark.parametrize("mode", ["error", "skip"])
def test_gather_skips_minus_one(mode: str) -> None:
    a, b = random((10, 6)), random((10, 6), 1)
    result, _ = run(GATHER.replace("OOB", mode), a, indices(3, -1, 3, 9), b)
    expected = a[[3, 0, 3, 9]]
    expected[1] = 5
    assert np.array_equal(result, expected)


def test_out_of_bounds_is_dropped_or_raised() -> None:
    a, b = random((10, 6)), random((10, 6), 1)
    index = indices(3, 10, 0, 1 << 30)
    result, _ = run(GATHER.replace("OOB", "skip"), a, index, b)
    assert np.array_equal(result[[0, 2]], a[[3, 0]])
    assert (result[[1, 3]] == 5).all()
    for text in (GATHER.replace("OOB", "error"), SCATTER.replace("OOB", "error")):
        with pytest.raises(MachineError) as caught:
            prepared(text).run([a, index, b])
        (diagnostic,) = caught.value.diagnostics
        assert "index 10 at row 1 of `n` is out of bounds for 10 rows" in (
            diagnostic.message
        )
        assert diagnostic.location is not None


def test_scatter_last_of_equal_indices_wins() -> None:
    a, b = random((10, 6)), random((10, 6), 1)
    expected = b.copy()
    expected[2] = a[3]
    expected[7] = a[1]
    given = b.copy()
    _, result = run(SCATTER.replace("OOB", "error"), a, indices(2, 7, -1, 2), given)
    assert np.array_equal(result, expected)


def test_scatter_add_adds_duplicates_in_order() -> None:
    a, b = random((10, 6)), random((10, 6), 1)
    expected = b.copy()
    for row, target in enumerate((2, 7, 2, 2)):
        expected[target] += a[row]
    _, result = run(ACCUMULATE, a, indices(2, 7, 2, 2), b.copy())
    assert np.array_equal(result, expected)


def test_masked_gather() -> None:
    a, b = random((10, 6)), random((10, 6), 1)
    text = GATHER.replace("OOB", "error").replace(
        "%n {max", "%n where 2 - l0 >= 0 and l1 - 1 >= 0 {max"
    )
    result, _ = run(text, a, indices(3, 4, 5, 99), b)
    expected = np.full((4, 6), 5, np.float32)
    expected[:3, 1:] = a[3:6, 1:]
    assert np.array_equal(result, expected)


DESCRIPTORS = """
bir.func @f {
  %a = bir.location @a ExternalInput : <8x6xf32, hbm>
  %i = bir.location @i ExternalInput : <4x1xi32, hbm>
  %o = bir.location @o ExternalOutput : <8x6xbf16, hbm>
  %b = bir.location @b mutable ExternalInput : <8x6xf32, hbm>
  %t = bir.location @t : <4x6xf32, sbuf>
  %n = bir.location @n : <4x1xi32, sbuf>
  dma.block @L0 { dma.copy f32 f32 %t[0, 0][1 x 4, 4 x 6] <- %a[0][24 x 4, 4 x 6] }
  dma.block @L1 { dma.copy f32 f32 %t[0, 0][1 x 4, 4 x 6] <- %a[96][24 x 4, 4 x 6] }
  dma.block @S0 { dma.copy bf16 f32 %o[0][12 x 4, 2 x 6] <- %t[0, 0][1 x 4, 4 x 6] }
  dma.block @S1 { dma.copy bf16 f32 %o[48][12 x 4, 2 x 6] <- %t[0, 0][1 x 4, 4 x 6] }
  bir.loop sequential %k = 0 to 2 {
    bir.dma_trigger @L [@L0, @L1]
    bir.tensor_scalar_ptr @M mult %t <- %t {imm0 = 2.0, engine = DVE}
    bir.dma_trigger @S [@S0, @S1]
  }
  dma.block @N { dma.copy i32 i32 %n[0, 0][1 x 4, 4 x 1] <- %i[0][4 x 4, 4 x 1] }
  bir.dma_trigger @TN [@N]
  dma.block @G {
    dma.gather f32 f32 %t[0, 0][1 x 4, 4 x 6] <- %a[0][24 x 4, 4 x 6],
      %n[0, 0][1 x 4, 4 x 1] {max_index = 8}
    dma.scatter f32 f32 %b[0][24 x 4, 4 x 6] <- %t[0, 0][1 x 4, 4 x 6],
      %n[0, 0][1 x 4, 4 x 1] {max_index = 8, op = add}
    dma.cce f32 f32 %b[0][24 x 4, 4 x 6] <- %t[0, 0][1 x 4, 4 x 6]
  }
  bir.dma_trigger @TG [@G]
  bir.return o = %o, b = %b
}
"""


def test_descriptors_and_triggers_round_robin() -> None:
    a, b = random((8, 6)), random((8, 6), 1)
    expected = b.copy()
    picked = (1, 5, 1, 7)
    for row in picked:
        expected[row] += a[row]
    expected[:4] += a[list(picked)]
    doubled, result = run(DESCRIPTORS, a, indices(*picked), b.copy())
    assert doubled.tobytes() == (a * 2).astype(BF16).tobytes()
    assert np.array_equal(result, expected)


TRANSPOSES = """
penguin.func @f(a = %a: !neuron.tensor<32x16xbf16, hbm>,
                i = %i: !neuron.tensor<16x1xu32, hbm>) {
  %o = penguin.alloc : <16x32xbf16, hbm>
  %g = penguin.alloc : <16x16xbf16, hbm>
  %t = penguin.alloc : <16x32xbf16, sbuf>
  %u = penguin.alloc init 1.0 : <16x16xbf16, sbuf>
  %n = penguin.alloc : <16x1xu32, sbuf>
  penguin.dma_transpose_load %t <- %a {axes = [1, 0]}
  penguin.sb_atom_load %n <- %i
  penguin.dma_indirect_transpose %u[0, 0][1 x 16, 16 x 1, 1 x 16]
    <- %a[0][16 x 16, 16 x 1, 1 x 16], %n {axes = [2, 1, 0], max_index = 32}
  penguin.sb_atom_store %o <- %t
  penguin.sb_atom_store %g <- %u
  penguin.return o = %o, g = %g
}
"""


def test_dma_transposes() -> None:
    a = random((32, 16)).astype(BF16)
    index = np.arange(16, dtype=np.uint32).reshape(-1, 1) * 2
    index[5] = 0xFFFFFFFF
    turned, gathered = run(TRANSPOSES, a, index)
    assert turned.tobytes() == a.T.tobytes()
    expected = a[::2].T.copy()
    expected[:, 5] = 1
    assert gathered.tobytes() == expected.tobytes()


def test_dma_transposes_as_descriptors() -> None:
    text = TRANSPOSES.replace("%u = penguin.alloc init 1.0", "%u = penguin.alloc")
    a = random((32, 16)).astype(BF16)
    index = np.arange(16, dtype=np.uint32).reshape(-1, 1) * 2
    expected = [x.tobytes() for x in run(text, a, index)]
    for passes in (("penguin-to-bir",), ("neuron",)):
        found = prepare(parsed(text, *passes)).run([a, index])
        assert [x.tobytes() for x in found] == expected


SHUFFLES = """
penguin.func @f(a = %a: !neuron.tensor<32x4xf32, hbm>,
                i = %i: !neuron.tensor<32x2xu16, hbm>,
                j = %j: !neuron.tensor<32x3xu32, hbm>) {
  %o = penguin.alloc : <32x4xf32, hbm>
  %p = penguin.alloc : <32x5xf32, hbm>
  %q = penguin.alloc : <32x3xf32, hbm>
  %t = penguin.alloc : <32x4xf32, sbuf>
  %s = penguin.alloc : <32x4xf32, sbuf>
  %n = penguin.alloc : <32x2xu16, sbuf>
  %m = penguin.alloc : <32x3xu32, sbuf>
  %u = penguin.alloc : <32x5xf32, sbuf>
  %v = penguin.alloc : <32x3xf32, sbuf>
  penguin.sb_atom_load %t <- %a
  penguin.sb_atom_load %n <- %i
  penguin.sb_atom_load %m <- %j
  penguin.memset %s {value = 0.0}
  penguin.stream_shuffle %s <- %t {mask = [MASK]}
  penguin.indirect_copy %u <- %t, %n {num_valid_indices = 5}
  penguin.pool_gather %v <- %t, %m
  penguin.sb_atom_store %o <- %s
  penguin.sb_atom_store %p <- %u
  penguin.sb_atom_store %q <- %v
  penguin.return o = %o, p = %p, q = %q
}
"""


def test_engine_shuffles_and_gathers() -> None:
    a = random((32, 4))
    mask = [31 - lane for lane in range(31)] + [255]
    text = SHUFFLES.replace("MASK", ", ".join(map(str, mask)))
    i = np.random.default_rng(1).integers(0, 4, (32, 2), np.uint16)
    j = np.random.default_rng(2).integers(0, 4, (32, 3), np.uint32)
    shuffled, local, flat = run(text, a, i, j)
    expected = a[::-1].copy()
    expected[31] = 0
    assert np.array_equal(shuffled, expected)
    for core in range(2):
        rows = slice(16 * core, 16 * core + 16)
        wrapped = i[rows].T.reshape(-1)[:5]
        assert np.array_equal(local[rows], a[rows][:, wrapped])
    assert np.array_equal(flat, np.take_along_axis(a, j.astype(np.int64), axis=1))
    j[3, 1] = 4
    with pytest.raises(MachineError, match="index 4 is out of bounds"):
        prepared(text).run([a, i, j])


REGISTER = """
penguin.func @f(a = %a: !neuron.tensor<10x6xf32, hbm>,
                i = %i: !neuron.tensor<4x1xi32, hbm>) {
  %o = penguin.alloc : <4x6xf32, hbm>
  %n = penguin.alloc : <1x4xi32, sbuf>
  penguin.dma_copy %n[0, 0][1 x 1, 1 x 4] <- %i[0][4 x 1, 1 x 4]
  penguin.for sequential %k = 0 to 4 {
    %r = penguin.load_tensor_to_register %n[0, %k][1 x 1, 1 x 1]
    penguin.dma_copy %o[%k * 6][1 x 6] <- %a[%r * 6][1 x 6]
  }
  penguin.return o = %o
}
"""


def test_registers_offset_an_access() -> None:
    a = random((10, 6))
    (result,) = run(REGISTER, a, indices(3, 0, 9, 3), options=STREAMED)
    assert np.array_equal(result, a[[3, 0, 9, 3]])
    with pytest.raises(MachineError, match="Out-of-bound access for tensor `a`"):
        prepared(REGISTER).run([a, indices(3, 0, 10, 3)])


def test_writing_an_input_is_refused() -> None:
    text = kernel(
        "penguin.dma_copy %a <- %o",
        "a = %a: !neuron.tensor<4x4xf32, hbm>",
        "o",
        "<4x4xf32, hbm>",
    )
    with pytest.raises(DiagnosticError, match="Cannot update immutable parameter `a`"):
        prepared(text)
