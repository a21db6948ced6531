"""Modes of the tensor engine in both languages, the same bits at every level."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from kernel_pieces import F32, Array, Kernel, loaded, nisa, nl, saved, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.machine import MachineError
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

fl: Any = functional_language
fisa: Any = functional_isa
FP8 = ml_dtypes.float8_e4m3
BF16 = ml_dtypes.bfloat16
TARGETS = ("trn1", "trn2", "trn3")


def turned(x: Any, y: Any) -> Any:
    """The tensor engine's own transpose mode."""
    return fisa.nc_matmul(x, y, is_transpose=True)


def transposed(x: Any) -> Any:
    """A transpose by the tensor engine."""
    return fisa.nc_transpose(x, engine=fisa.engine.tensor)


def misspelled(x: Any) -> Any:
    """A call with a keyword of another instruction."""
    return fisa.nc_matmul(x, x, moving_scale=1)


def integers(*shape: int, kind: Any = F32, seed: int = 0) -> Array:
    """Values whose sums of products are exact, and which every type here has."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(kind)


def odd_values(*shape: int, kind: Any = F32) -> Array:
    """Values that only moving their bits preserves."""
    found = integers(*shape)
    found[0, :4] = (np.nan, np.inf, -np.inf, -0.0)
    return found.astype(kind)


def value(function: Kernel, *shape: int, dtype: Any = None) -> Kernel:
    """A functional kernel that stores what `function` makes of its loaded arguments."""

    def stored(tiles: list[Any]) -> Any:
        found = function(*tiles)
        out = fl.ndarray(shape, dtype or found.dtype, buffer=fl.shared_hbm)
        fl.store(out, found)
        return out

    def one(x: Any) -> Any:
        return stored([fl.load(x)])

    def two(x: Any, y: Any) -> Any:
        return stored([fl.load(x), fl.load(y)])

    def three(x: Any, y: Any, z: Any) -> Any:
        return stored([fl.load(x), fl.load(y), fl.load(z)])

    return (one, two, three)[function.__code__.co_argcount - 1]


def product(dst: Any, *inputs: Any, **options: Any) -> Any:
    """A matmul of loaded tensors into a PSUM tile, which is saved."""
    psum = nl.ndarray(dst, dtype=options.pop("dtype", nl.float32), buffer=nl.psum)
    nisa.nc_matmul(psum, *[loaded(x) for x in inputs], **options)
    out = tile(*dst, dtype=psum.dtype)
    nisa.tensor_copy(out, psum)
    return saved(out)


@pytest.mark.parametrize("kind", [F32, BF16, np.float16])
@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_transpose_mode_moves_bits(target: str, kind: Any) -> None:
    x, eye = odd_values(32, 16, kind=kind), np.eye(32).astype(kind)
    names = {F32: "float32", BF16: "bfloat16", np.float16: "float16"}

    @nki.jit(platform_target=target)
    def destination(x: Any, y: Any) -> Any:
        dtype = getattr(nl, names[kind])
        return product((16, 32), x, y, is_transpose=True, dtype=dtype)

    found = assert_kernel_ok(destination, x, eye)
    assert np.asarray(found).tobytes() == np.ascontiguousarray(x.T).tobytes()
    run = functional.jit(
        value(turned, 16, 32),
        platform_target=target,
    )
    found = assert_kernel_ok(run, x, eye)
    assert np.asarray(found).tobytes() == np.ascontiguousarray(x.T).tobytes()


def test_gen2_multiplies_by_the_identity() -> None:
    x, eye = odd_values(32, 16), np.eye(32, dtype=F32)
    expected = x.T.copy()
    expected[:3] = np.nan  # 0 * NaN and 0 * inf in each sum
    expected[0, 0] = np.nan
    expected[1, 0], expected[2, 0], expected[3, 0] = np.inf, -np.inf, 0.0

    @nki.jit(platform_target="trn1")
    def matmul(x: Any, y: Any) -> Any:
        return product((16, 32), x, y, is_transpose=True)

    @nki.jit(platform_target="trn1")
    def transpose(x: Any, y: Any) -> Any:
        psum = nl.ndarray((16, 32), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_transpose(psum, loaded(x), engine=nisa.engine.tensor)
        out = tile(16, 32)
        nisa.tensor_copy(out, psum)
        return saved(out)

    for kernel in (matmul, transpose):
        found = np.asarray(assert_kernel_ok(kernel, x, eye))
        np.testing.assert_array_equal(found, expected)
        assert not np.signbit(found[3, 0])


@pytest.mark.parametrize("target", TARGETS)
def test_tensor_engine_transposes_bf16_on_every_generation(target: str) -> None:
    x = integers(32, 16, kind=BF16)
    run = functional.jit(
        value(transposed, 16, 32),
        platform_target=target,
    )
    found = assert_kernel_ok(run, x)
    assert np.asarray(found).tobytes() == np.ascontiguousarray(x.T).tobytes()


@pytest.mark.parametrize("kind", [F32, BF16])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("is_box", [True, False])
def test_levels_agree_on_masked_transposes(
    target: str, kind: Any, is_box: bool
) -> None:
    x = odd_values(32, 16, kind=kind)

    def kernel(x: Any) -> Any:
        out = fl.zeros((16, 32), x.dtype, buffer=fl.sbuf)
        i, j = fl.mgrid[0:32, 0:16]
        mask = (i < 9) & (j < 13) if is_box else i <= j
        turned = fisa.nc_transpose(x, engine=fisa.engine.tensor, mask=mask)
        f, p = fl.mgrid[0:16, 0:32]
        kept = (p < 9) & (f < 13) if is_box else p <= f
        out[f, p] = fl.copy(turned, mask=kept)
        return out

    found = np.asarray(
        assert_kernel_ok(
            functional.jit(value(kernel, 16, 32), platform_target=target), x
        )
    )
    i, j = np.mgrid[0:32, 0:16]
    kept = (i < 9) & (j < 13) if is_box else i <= j
    expected = np.where(kept, x, np.zeros((), kind))
    # Gen2 spreads what is not finite, which only the first four rows have.
    first = 4 if target == "trn1" else 0
    np.testing.assert_array_equal(
        found[first:].astype(F32), expected.T[first:].astype(F32)
    )


def test_transpose_of_bytes_fills_the_upper_one_with_zeros() -> None:
    x, eye = integers(32, 16, kind=FP8), np.eye(32).astype(FP8)

    @nki.jit(platform_target="trn2")
    def kernel(x: Any, y: Any) -> Any:
        return product((16, 32), x, y, is_transpose=True, dtype=nl.uint16)

    found = np.asarray(assert_kernel_ok(kernel, x, eye))
    np.testing.assert_array_equal(found, x.T.view(np.uint8).astype(np.uint16))


def test_transpose_mode_takes_a_permutation_of_an_identity() -> None:
    x = odd_values(32, 16)
    order = np.random.default_rng(1).permutation(32)

    @nki.jit(platform_target="trn2")
    def kernel(x: Any, y: Any) -> Any:
        return product((16, 32), x, y, is_transpose=True)

    found = assert_kernel_ok(kernel, x, np.eye(32, dtype=F32)[:, order])
    assert np.asarray(found).tobytes() == np.ascontiguousarray(x[order].T).tobytes()
    with pytest.raises(MachineError, match="something else than 0 and 1"):
        kernel(x, np.full((32, 32), 2.0, F32))


def test_transposes_overwrite_and_add_as_values() -> None:
    x, eye = integers(32, 16), np.eye(32, dtype=F32)

    def twice(x: Any, y: Any) -> Any:
        psum = fl.zeros((16, 32), fl.float32, buffer=fl.psum)
        for _ in fl.sequential_range(2):
            psum[...] = fisa.nc_matmul(x, y, is_transpose=True)
        return psum

    def added(x: Any, y: Any) -> Any:
        sums = fl.zeros((16, 32), fl.float32, buffer=fl.sbuf)
        sums += fisa.nc_matmul(x, y, is_transpose=True)
        sums += fisa.nc_matmul(x, y, is_transpose=True)
        return sums

    for function, factor in ((twice, 1), (added, 2)):
        run = functional.jit(value(function, 16, 32))
        assert_kernel_ok(run, x, eye, expected=factor * x.T)


def test_a_transpose_goes_into_a_wider_tile_by_a_copy() -> None:
    x, eye = integers(32, 16, kind=BF16), np.eye(32).astype(BF16)

    def wide(x: Any, y: Any) -> Any:
        psum = fl.ndarray((2, fl.par_dim(16), 32), dtype=fl.float32, buffer=fl.psum)
        out = fl.ndarray((16, 32), dtype=fl.float32, buffer=fl.sbuf)
        for block in fl.affine_range(2):
            psum[block] = fisa.nc_matmul(x, y, is_transpose=True)
        out[...] = fl.add(psum[0], fl.copy(psum[1]))
        return out

    run = functional.jit(value(wide, 16, 32))
    assert_kernel_ok(run, x, eye, expected=2 * x.T.astype(F32))


def test_tiles_of_the_array_change_nothing_but_when() -> None:
    a, b = integers(4, 64, 64), integers(4, 64, 48, seed=1)

    def tiles(a: Any, b: Any) -> Any:
        out = fl.ndarray((4, 64, 48), dtype=fl.float32, buffer=fl.shared_hbm)
        for i in fl.affine_range(2):
            for j in fl.affine_range(2):
                sums = fisa.nc_matmul(
                    fl.load(a[2 * i + j]),
                    fl.load(b[2 * i + j]),
                    tile_position=(i * 64, (j % 2) * 64),
                    tile_size=(64, 64),
                )
                fl.store(out[2 * i + j], sums)
        return out

    expected = np.einsum("bkm,bkn->bmn", a, b)
    for target in TARGETS:
        run = functional.jit(tiles, platform_target=target)
        assert_kernel_ok(run, a, b, expected=expected)

    @nki.jit(platform_target="trn2")
    def quarter(x: Any, y: Any) -> Any:
        return product((32, 48), x, y, tile_position=(32, 96), tile_size=(32, 32))

    assert_kernel_ok(
        quarter, a[0, :32, :32], b[0, :32], expected=a[0, :32, :32].T @ b[0, :32]
    )


def doubled(mode: Any) -> Kernel:
    """A double-row product, added twice."""

    def kernel(x: Any, y: Any) -> Any:
        sums = fl.zeros((16, 24), fl.float32, buffer=fl.psum)
        sums += fisa.nc_matmul(x, y, perf_mode=mode)
        sums += fisa.nc_matmul(x, y, perf_mode=mode)
        return sums

    return kernel


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_double_rows(target: str) -> None:
    a, b = integers(32, 2, 16, kind=FP8), integers(32, 2, 24, kind=FP8, seed=1)
    expected = np.einsum("kjm,kjn->mn", a.astype(F32), b.astype(F32))

    @nki.jit(platform_target=target)
    def destination(x: Any, y: Any) -> Any:
        mode = nisa.matmul_perf_mode.double_row
        return product((16, 24), x, y, perf_mode=mode)

    assert_kernel_ok(destination, a, b, expected=expected)
    for mode in ("double_row_gen3", fisa.matmul_perf_mode.double_row):
        run = functional.jit(value(doubled(mode), 16, 24), platform_target=target)
        assert_kernel_ok(run, a, b, expected=2 * expected)


def test_a_masked_double_row() -> None:
    a, b = integers(32, 2, 16, kind=FP8), integers(32, 2, 24, kind=FP8, seed=1)

    def kernel(x: Any, y: Any) -> Any:
        out = fl.zeros((16, 24), fl.float32, buffer=fl.sbuf)
        i, j = fl.mgrid[0:16, 0:24]
        sums = fisa.nc_matmul(
            x, y, perf_mode="double_row_gen3", mask=(i < 16) & (j < 9)
        )
        out[i, j] = fl.copy(sums, mask=(i < 16) & (j < 9))
        return out

    expected = np.einsum("kjm,kjn->mn", a.astype(F32), b.astype(F32))
    expected[:, 9:] = 0
    run = functional.jit(value(kernel, 16, 24))
    assert_kernel_ok(run, a, b, expected=expected)


@settings(max_examples=8, deadline=None)
@given(ratio=st.integers(1, 4), seed=st.integers(0, 100))
def test_sparse_products(ratio: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    moving, weights = integers(8, ratio, 6, seed=seed), integers(8, 12, seed=seed + 1)
    tags = random.integers(0, 4 * ratio, (8, 12))
    words = np.zeros((8, 3), np.uint16)
    for lane in range(4):
        words |= (tags[:, lane::4] << (4 * lane)).astype(np.uint16)
    dense = np.zeros((8 * ratio, 12), F32)
    for (row, column), weight in np.ndenumerate(weights):
        dense[row // 4 * 4 * ratio + tags[row, column], column] += weight
    expected = dense.T @ moving.reshape(8 * ratio, 6)

    def sparse(x: Any, y: Any, z: Any) -> Any:
        sums = fl.zeros((12, 6), fl.float32, buffer=fl.psum)
        for _ in fl.affine_range(2):
            sums += fisa.nc_matmul_sparse(x, y, z, ratio)
        return sums

    run = functional.jit(value(sparse, 12, 6))
    assert_kernel_ok(
        run, moving.astype(BF16), weights.astype(BF16), words, expected=2 * expected
    )


def matmul(**options: Any) -> Kernel:
    """A matmul of one tile with itself, in the destination-passing language."""

    def kernel(x: Any) -> Any:
        return product((32, 32), x, x, **options)

    return kernel


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            matmul(tile_size=(32, 32)),
            "nc_matmul tile_position and tile_size must be both set or not set.",
        ),
        (
            matmul(tile_position=(0,), tile_size=(32, 32)),
            r"nc_matmul tile_position must be a 2D tuple \(row_tile_position, "
            r"col_tile_position\) or \(\).",
        ),
        (
            matmul(tile_position=(0, 0), tile_size=32),
            r"nc_matmul tile_size must be a 2D tuple \(row_tile_size, col_tile_size\) ",
        ),
        (
            matmul(tile_position=(0, 1.5), tile_size=(32, 32)),
            "nc_matmul tile_position only supports int or affine expression.",
        ),
        (
            matmul(tile_position=(0, 0), tile_size=(16, 32)),
            r"tile_size \[16, 32\] is not supported on trn2",
        ),
        (
            matmul(tile_position=(16, 0), tile_size=(32, 32)),
            "tile_position row 16 is not supported: a tile of 32 rows starts at 0, 32",
        ),
        (
            matmul(perf_mode=nisa.matmul_perf_mode.double_row),
            "The double_row matmult only support fp8e4m3 and fp8e5m2, got float32",
        ),
        (
            matmul(perf_mode="double_pixel"),
            "`perf_mode` is 'double_pixel', expected one of matmul_perf_mode.none",
        ),
        (matmul(is_transpose=True, accumulate=True), "moves bits and does not accum"),
        (
            matmul(tile_place=3),
            "'tile_place'; did you mean 'tile_size'. it accepts dst, stationary, "
            "moving, is_stationary_onezero, is_moving_onezero, is_transpose, "
            "accumulate, tile_position, tile_size, perf_mode, name",
        ),
    ],
)
def test_messages(kernel: Kernel, message: str) -> None:
    with pytest.raises(NKIError, match=message) as raised:
        nki.jit(kernel, platform_target="trn2").trace(tensor_spec("f32", (32, 32)))
    assert raised.value.location is not None


def test_messages_of_sizes_and_types() -> None:
    def wide(x: Any) -> Any:
        part = loaded(x)
        psum = nl.ndarray((32, 1024), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(psum, part[:, 0:32], part)
        return saved(part)

    advice = "moving free size 1024 exceeds 512: loop over two halves, or use a block"
    with pytest.raises(NKIError, match=advice):
        nki.jit(wide, platform_target="trn2").trace(tensor_spec("f32", (32, 1024)))
    words = "Unsupported dtype 'uint8' of .* in nc_matmul, expected one of the foll"
    with pytest.raises(NKIError, match=words):
        nki.jit(matmul(), platform_target="trn2").trace(tensor_spec("u8", (32, 32)))
    unknown = "'moving_scale'; did you mean 'moving'. it accepts stationary, moving, "
    with pytest.raises(NKIError, match=unknown):
        functional.trace(value(misspelled, 32, 32))(tensor_spec("f32", (32, 32)))


def test_a_tile_of_the_array_for_packed_products() -> None:
    def kernel(x: Any) -> Any:
        data = loaded(x)
        packed = tile(32, 16, dtype=nl.float8_e4m3fn_x4)
        scale = tile(4, 16, dtype=nl.uint8)
        nisa.quantize_mx(packed, data, scale)
        psum = nl.ndarray((16, 16), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul_mx(psum, packed, packed, scale, scale, (32, 0), (32, 128))
        out = tile(16, 16)
        nisa.tensor_copy(out, psum)
        return saved(out)

    x = integers(32, 64).astype(BF16)
    rows = x.astype(F32).reshape(32, 16, 4).transpose(0, 2, 1).reshape(128, 16)
    assert_kernel_ok(nki.jit(kernel), x, expected=rows.T @ rows)
