"""Scans, folds, searches, selections and statistics of both languages."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import (
    F32,
    Kernel,
    both,
    fl,
    loaded,
    nisa,
    nl,
    normal,
    saved,
    stored,
    tile,
)

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.passes.levels import lowered
from xdsl_neuron.testing import assert_kernel_ok

fisa: Any = functional_isa

FP32_MIN = np.finfo(F32).min
P, F = 32, 40


def test_scan() -> None:
    a, b = np.round(normal(P, F) * 4), np.round(normal(P, F) * 4)

    def destination(x: Any, y: Any) -> Any:
        dst = tile(P, F)
        nisa.tensor_tensor_scan(
            dst, loaded(x), loaded(y), initial=1.0, op0=nl.maximum, op1=nl.add
        )
        return saved(dst)

    def value(x: Any, y: Any) -> Any:
        return stored(
            fisa.tensor_tensor_scan(fl.load(x), fl.load(y), 1.0, np.maximum, np.add)
        )

    state, expected = np.ones(P, F32), np.empty_like(a)
    for i in range(F):
        state = np.maximum(a[:, i], state) + b[:, i]
        expected[:, i] = state
    both(destination, value, a, b, expected=expected)


def test_masked_scan_reads_a_column() -> None:
    a, b = np.round(normal(P, F) * 4), np.round(normal(P, F) * 4)

    def value(x: Any, y: Any) -> Any:
        first, dst = fl.load(y), fl.zeros((P, F), dtype=fl.float32, buffer=fl.sbuf)
        i, j = fl.mgrid[0:P, 0:F]
        dst[i, j] = fisa.tensor_tensor_scan(
            fl.load(x),
            fl.load(y),
            first[:, 0:1],
            np.multiply,
            np.add,
            mask=(i < 20) & (j < 3),
        )
        return stored(dst)

    state, expected = b[:20, 0], np.zeros_like(a)
    for i in range(3):
        state = a[:20, i] * state + b[:20, i]
        expected[:20, i] = state
    assert_kernel_ok(functional.jit(value), a, b, expected=expected)


def test_scalar_tensor_tensor() -> None:
    a, b = normal(P, F), normal(P, F)[:, ::-1].copy()

    def destination(x: Any, y: Any) -> Any:
        dst, other = tile(P, F), loaded(y)
        nisa.scalar_tensor_tensor(
            dst,
            loaded(x),
            op0=nl.subtract,
            operand0=other[:, 0:1],
            op1=nl.multiply,
            operand1=other,
            reverse0=True,
        )
        return saved(dst)

    def value(x: Any, y: Any) -> Any:
        other = fl.load(y)
        return stored(
            fisa.scalar_tensor_tensor(
                data=fl.load(x),
                op0=np.subtract,
                operand0=other[:, 0:1],
                op1=np.multiply,
                operand1=other,
                reverse0=True,
            )
        )

    both(destination, value, a, b, expected=(b[:, :1] - a) * b)


def test_tensor_scalar_reduce() -> None:
    a = np.round(normal(P, F) * 8)

    def destination(x: Any) -> Any:
        dst, row = tile(P, F), tile(P, 1)
        nisa.tensor_scalar_reduce(dst, loaded(x), nl.multiply, 2.0, nl.maximum, row)
        return saved(dst), saved(row)

    def value(x: Any) -> Any:
        row = fl.ndarray((P, 1), dtype=fl.float32, buffer=fl.sbuf)
        found = fisa.tensor_scalar_reduce(
            data=fl.load(x),
            op0=np.multiply,
            operand0=2.0,
            reduce_op=np.max,
            reduce_res=row,
        )
        return stored(found), stored(row)

    both(destination, value, a, expected=(2 * a, (2 * a).max(1, keepdims=True)))


@pytest.mark.parametrize("own_name", [True, False])
def test_activation_reduce(own_name: bool) -> None:
    a = normal(P, F)

    def destination(x: Any) -> Any:
        dst, row, given = tile(P, F), tile(P, 1), loaded(x)
        bias = given[:, 0:1]
        if own_name:
            nisa.activation_reduce(dst, nl.exp, given, nl.add, row, bias, 0.5)
        else:
            nisa.activation(
                dst,
                nl.exp,
                given,
                bias=bias,
                scale=0.5,
                reduce_op=nl.add,
                reduce_res=row,
                reduce_cmd=nisa.reduce_cmd.reset_reduce,
            )
        return saved(dst), saved(row)

    def value(x: Any) -> Any:
        row = fl.ndarray((P, 1), dtype=fl.float32, buffer=fl.sbuf)
        given = fl.load(x)
        bias = given[:, 0:1]
        if own_name:
            found = fisa.activation_reduce(
                fl.exp, given, reduce_op=np.add, reduce_res=row, bias=bias, scale=0.5
            )
        else:
            found = fisa.activation(
                np.exp,
                given,
                bias=bias,
                scale=0.5,
                reduce_op=np.add,
                reduce_res=row,
                reduce_cmd=fisa.reduce_cmd.reset_reduce,
            )
        return stored(found), stored(row)

    power = np.exp(a * F32(0.5) + a[:, :1])
    expected = (power, power.sum(1, keepdims=True))
    both(destination, value, a, expected=expected, rtol=1e-5)


def test_partition_reduce() -> None:
    a = np.round(normal(P, F) * 8)

    def destination(x: Any) -> Any:
        dst = tile(1, F)
        nisa.tensor_partition_reduce(dst, nl.add, loaded(x))
        return saved(dst)

    def value(x: Any) -> Any:
        return stored(fisa.tensor_partition_reduce(np.add, fl.load(x)))

    both(destination, value, a, expected=a.sum(0, keepdims=True))


def test_search() -> None:
    a = np.random.default_rng(1).permutation(P * F).reshape(P, F).astype(F32)

    def destination(x: Any) -> Any:
        given, top = loaded(x), tile(P, 8)
        index, rest = tile(P, 8, dtype=nl.uint32), tile(P, F)
        nisa.max8(top, given)
        nisa.nc_find_index8(index, given, top)
        nisa.nc_match_replace8(rest, given, top, imm=-1.0)
        return saved(top), saved(index), saved(rest)

    def value(x: Any) -> Any:
        given = fl.load(x)
        top = fisa.max8(src=given)
        index = fisa.nc_find_index8(data=given, vals=top)
        rest = fisa.nc_match_replace8(data=given, vals=top, imm=-1.0)
        return stored(top), stored(index), stored(rest)

    order = np.argsort(-a, 1)[:, :8]
    rest = a.copy()
    np.put_along_axis(rest, order, -1, 1)
    expected = np.take_along_axis(a, order, 1), order, rest
    both(destination, value, a, expected=expected)


def test_replacing_tells_indices_and_masks_keep_partitions() -> None:
    a = np.random.default_rng(1).permutation(P * F).reshape(P, F).astype(F32)

    def value(x: Any) -> Any:
        given = fl.load(x)
        top = fl.zeros((P, 8), dtype=fl.float32, buffer=fl.sbuf)
        index = fl.zeros((P, 8), dtype=fl.uint32, buffer=fl.sbuf)
        i, j = fl.mgrid[0:P, 0:8]
        top[i, j] = fisa.max8(src=given[i, j])
        fisa.nc_match_replace8(
            data=given, vals=top, imm=0.0, dst_idx=index, mask=i < 16
        )
        return stored(index)

    order = np.argsort(-a[:, :8], 1)
    order[16:] = 0
    assert_kernel_ok(functional.jit(value), a, expected=order)


def test_statistics() -> None:
    a = normal(P, F)

    def destination(x: Any) -> Any:
        stats, merged = tile(P, 6), tile(P, 2)
        nisa.bn_stats(stats, loaded(x))
        nisa.bn_aggr(merged, stats)
        return saved(stats[:, 0:1]), saved(merged)

    def value(x: Any) -> Any:
        stats = fisa.bn_stats(fl.load(x))
        return stored(stats[:, 0:1]), stored(fisa.bn_aggr(stats))

    merged = np.stack([a.mean(1), a.var(1)], 1)
    expected = (np.full((P, 1), F / 2), merged)
    both(destination, value, a, expected=expected, rtol=1e-5)


@pytest.mark.parametrize("early", [True, False])
def test_affine_select(early: bool) -> None:
    a = normal(P, F)

    def destination(x: Any) -> Any:
        dst, given, pattern = tile(P, F), loaded(x), [[-1, F]]
        if early:  # release 0.2 has the offset in front
            nisa.affine_select(dst, pattern, 3, 1, given, -5.0, cmp_op=nl.greater_equal)
        else:
            nisa.affine_select(dst, pattern, 1, given, -5.0, nl.greater_equal, offset=3)
        return saved(dst)

    def value(x: Any) -> Any:
        i, j = fl.mgrid[0:P, 0:F]
        pred = (i + 3 >= j) if early else i - j + 4
        return stored(fisa.affine_select(pred, fl.load(x), -5.0))

    p, f = np.ogrid[:P, :F]
    both(destination, value, a, expected=np.where(p - f + 3 >= 0, a, F32(-5)))


def test_affine_select_in_a_loop() -> None:
    a = normal(P, F)

    def value(x: Any) -> Any:
        out = fl.ndarray((2, P, F), dtype=fl.float32, buffer=fl.shared_hbm)
        given = fl.load(x)
        i, j = fl.mgrid[0:P, 0:F]
        for k in fl.affine_range(2):
            chosen = fisa.affine_select(k * 8 + i >= j, given, 0.0)
            fl.store(out[k], chosen)
        return out

    p, f = np.ogrid[:P, :F]
    expected = np.stack([np.where(k * 8 + p >= f, a, 0) for k in range(2)])
    assert_kernel_ok(functional.jit(value), a, expected=expected)


def test_range_select() -> None:
    a, low = normal(P, F), np.arange(P, dtype=F32).reshape(P, 1)
    high = low + 9

    def destination(x: Any, y: Any, z: Any) -> Any:
        dst, row = tile(P, F), tile(P, 1)
        nisa.range_select(
            dst,
            loaded(x),
            nl.greater_equal,
            nl.less,
            loaded(y),
            loaded(z),
            reduce_res=row,
            range_start=2,
            on_false_value=-3.4028235e38,
        )
        return saved(dst), saved(row)

    def value(x: Any, y: Any, z: Any) -> Any:
        row = fl.ndarray((P, 1), dtype=fl.float32, buffer=fl.sbuf)
        found = fisa.range_select(
            on_true_tile=fl.load(x),
            comp_op0=np.greater_equal,
            comp_op1=np.less,
            bound0=fl.load(y),
            bound1=fl.load(z),
            reduce_cmd=fisa.reduce_cmd.reset_reduce,
            reduce_res=row,
            range_start=2,
        )
        return stored(found), stored(row)

    column = np.arange(F) + 2
    expected = np.where((column >= low) & (column < high), a, FP32_MIN)
    both(
        destination,
        value,
        a,
        low,
        high,
        expected=(expected, expected.max(1, keepdims=True)),
    )


@pytest.mark.parametrize("row_asked", [True, False])
def test_select_reduce(row_asked: bool) -> None:
    a = normal(P, F)
    p = np.random.default_rng(2).integers(0, 2, (P, F), np.uint8)

    def destination(x: Any, y: Any) -> Any:
        dst, row = tile(P, F), tile(P, 1)
        asked = (
            {"reduce_res": row, "reduce_cmd": nisa.reduce_cmd.reset_reduce}
            if row_asked
            else {}
        )
        nisa.select_reduce(dst, loaded(y), loaded(x), -9.0, **asked)
        return (saved(dst), saved(row)) if row_asked else saved(dst)

    def value(x: Any, y: Any) -> Any:
        dst = fl.ndarray((P, F), dtype=fl.float32, buffer=fl.sbuf)
        row = fl.ndarray((P, 1), dtype=fl.float32, buffer=fl.sbuf)
        asked = (
            {"reduce_res": row, "reduce_cmd": fisa.reduce_cmd.reset_reduce}
            if row_asked
            else {}
        )
        fisa.select_reduce(
            dst=dst,
            predicate=fl.load(y),
            on_true=fl.load(x),
            on_false=-9.0,
            **asked,
        )
        return (stored(dst), stored(row)) if row_asked else stored(dst)

    chosen = np.where(p, a, F32(-9))
    top = chosen.max(1, keepdims=True)
    both(destination, value, a, p, expected=(chosen, top) if row_asked else chosen)


def test_cumulative() -> None:
    a = np.round(normal(P, F) * 4)
    command = nisa.reduce_cmd.load_reduce

    def destination(x: Any) -> Any:
        sums, tops, given = tile(P, F), tile(P, F), loaded(x)
        nisa.tensor_scalar_cumulative(
            sums, given, op0=nl.multiply, op1=nl.add, imm0=2.0
        )
        nisa.tensor_scalar_cumulative(
            tops, given, nl.add, nl.maximum, 1.0, 3.0, command
        )
        return saved(sums), saved(tops)

    def value(x: Any) -> Any:
        sums = fl.ndarray((P, F), dtype=fl.float32, buffer=fl.sbuf)
        tops = fl.ndarray((P, F), dtype=fl.float32, buffer=fl.sbuf)
        given = fl.load(x)
        fisa.tensor_scalar_cumulative(
            src=given, dst=sums, op0=np.multiply, op1=np.add, imm0=2.0
        )
        fisa.tensor_scalar_cumulative(
            src=given,
            dst=tops,
            op0=np.add,
            op1=np.maximum,
            imm0=1.0,
            imm1=3.0,
            reduce_cmd=command,
        )
        return stored(sums), stored(tops)

    tops = np.maximum(np.maximum.accumulate(a + 1, 1), 3)
    both(destination, value, a, expected=(np.cumsum(2 * a, 1), tops))


def test_exponential_and_activate2() -> None:
    a = normal(P, F)

    @nki.jit(platform_target="trn3")
    def kernel(x: Any) -> Any:
        given, power, row, second = loaded(x), tile(P, F), tile(P, 1), tile(P, F)
        nisa.exponential(
            power,
            given,
            given[:, 0:1],
            reduce_res=row,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )
        nisa.activate2(second, nl.relu, given, 2.0, 1.0, nl.multiply, nl.add)
        return saved(power), saved(row), saved(second)

    power = np.exp(a - a[:, :1])
    expected = power, power.sum(1, keepdims=True), np.maximum(2 * a + 1, 0)
    assert_kernel_ok(kernel, a, expected=expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(7, 13), (128, 5), (1, 1), (33, 2, 3)])
def test_activations_of_gpsimd(shape: tuple[int, ...]) -> None:
    @nki.jit
    def kernel(a: Any, bias: Any) -> Any:
        x, b = loaded(a), loaded(bias)
        first, second = (tile(*shape) for _ in range(2))
        engine = nisa.engine.gpsimd
        nisa.activation(first, nl.square, x, bias=b, scale=0.5, engine=engine)
        nisa.activate2(second, nl.relu, x, b, 1.0, nl.multiply, nl.add, engine=engine)
        return saved(first), saved(second)

    rng = np.random.default_rng(5)
    a = rng.integers(-9, 9, shape).astype(F32)
    bias = rng.integers(-9, 9, (shape[0], 1)).astype(F32)
    wide = bias.reshape(shape[0], *(1,) * (len(shape) - 1))
    expected = ((a * F32(0.5) + wide) ** 2, np.maximum(a * wide + 1, 0))
    assert_kernel_ok(kernel, a, bias, expected=expected)
    module = kernel.trace(a, bias)
    text = str(module)
    assert text.count("engine = Pool") == 2
    assert "engine = Pool" in str(lowered(module, "bir"))


def test_indices_of_data() -> None:
    a = np.zeros((1, F), np.int32)
    a[0, [3, 17, 18]] = 1
    ids = np.array([[1, 1, 2, 2, 2, 0]], np.int32)

    def destination(x: Any, y: Any) -> Any:
        dst = tile(1, F + 1, dtype=nl.int32)
        bounds = tile(1, 2, 6, dtype=nl.int32)
        nisa.nonzero_with_count(dst, loaded(x), index_offset=100, padding_val=-7)
        nisa.sequence_bounds(bounds, loaded(y))
        return saved(dst), saved(bounds)

    def value(x: Any) -> Any:
        return stored(fisa.sequence_bounds(segment_ids=fl.load(x)))

    found = np.full((1, F + 1), -7)
    found[0, :3], found[0, -1] = [103, 117, 118], 3
    bounds = np.array([[[0, 0, 2, 2, 2, 6], [2, 2, 5, 5, 5, -1]]])
    assert_kernel_ok(nki.jit(destination), a, ids, expected=(found, bounds))
    assert_kernel_ok(functional.jit(value), ids, expected=bounds)


def test_microscaling() -> None:
    # Powers of two have exact scales and elements.
    a = np.ldexp(F32(1), np.random.default_rng(3).integers(-2, 3, (32, 16)))
    b = np.ldexp(F32(1), np.random.default_rng(4).integers(-2, 3, (32, 64)))

    @nki.jit(platform_target="trn3")
    def kernel(x: Any, y: Any) -> Any:
        packed: list[Any] = []
        for given in (x, y):
            narrow = tile(32, given.shape[1], dtype=nl.bfloat16)
            nisa.tensor_copy(narrow, loaded(given))
            data = tile(32, given.shape[1] // 4, dtype=nl.float8_e4m3fn_x4)
            scale = tile(4, given.shape[1] // 4, dtype=nl.uint8)
            nisa.quantize_mx(data, narrow, scale)
            packed += [data, scale]
        psum = nl.ndarray((4, 16), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul_mx(psum, packed[0], packed[2], packed[1], packed[3])
        out = tile(4, 16)
        nisa.tensor_copy(out, psum)
        return saved(out)

    left, right = a.reshape(32, 4, 4), b.reshape(32, 16, 4)
    expected = np.einsum("pml,pnl->mn", left, right)
    assert_kernel_ok(kernel, a.astype(F32), b.astype(F32), expected=expected)


def test_matmul_transposes_by_an_identity_on_trn1() -> None:
    a = normal(P, 16)

    @nki.jit(platform_target="trn1")
    def kernel(x: Any, y: Any) -> Any:
        psum = nl.ndarray((16, P), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(psum, loaded(x), loaded(y), is_transpose=True)
        out = tile(16, P)
        nisa.tensor_copy(out, psum)
        return saved(out)

    assert_kernel_ok(kernel, a, np.eye(P, dtype=F32), expected=a.T)


@pytest.mark.parametrize(
    ("op", "fold"), [(np.add, np.sum), (np.multiply, np.prod), (np.maximum, np.max)]
)
def test_fold_over_loops(op: Kernel, fold: Kernel) -> None:
    a = np.round(normal(6, P, F) * 2)

    def value(x: Any) -> Any:
        total: Any = None
        for i in fl.affine_range(3):
            for j in fl.affine_range(2):
                total = fl.loop_reduce(
                    fl.load(x[2 * i + j]), op=op, loop_indices=[i, j]
                )
        return stored(total)

    assert_kernel_ok(functional.jit(value), a, expected=fold(a, axis=0))


@pytest.mark.parametrize("kind", [fl.float32, fl.bfloat16])
@pytest.mark.parametrize("step", [1, 2])
def test_fold_over_an_outer_loop(kind: Any, step: int) -> None:
    """
    The loops inside have a part of the fold each, as in a blocked matmul.

    A result of another type is rounded once: 255 + 2 + ... is not exact in bf16.
    """
    a = np.full((3, 2, 2, P, F), 1.0, F32)
    a[0], a[1:, 1] = 255, 2

    def value(x: Any) -> Any:
        out = fl.ndarray((2, 2, P, F), dtype=kind, buffer=fl.shared_hbm)
        total = fl.zeros((2, fl.par_dim(P), 2 * F), dtype=kind, buffer=fl.sbuf)
        for k in fl.affine_range(3):
            for m in fl.affine_range(2):
                for n in fl.affine_range(0, 2 * step, step):
                    part = fl.loop_reduce(
                        fl.load(x[k, m, n // step]),
                        op=np.add,
                        loop_indices=[k],
                        dtype=kind,
                        name="folded",
                    )
                    i, j = fl.mgrid[0:P, 0:F]
                    total[m, i, n // step * F + j] = part
        for m in fl.affine_range(2):
            for n in fl.affine_range(2):
                i, j = fl.mgrid[0:P, 0:F]
                fl.store(out[m, n, i, j], total[m, i, n * F + j])
        return out

    exact = a.sum(axis=0)
    expected = exact if kind is fl.float32 else exact.astype(ml_dtypes.bfloat16)
    assert_kernel_ok(functional.jit(value), a, expected=expected)


def test_a_fold_of_another_type_is_there_behind_the_loops() -> None:
    a = np.full((5, P, F), 129.0, F32)

    def value(x: Any) -> Any:
        total: Any = None
        for i in fl.affine_range(5):
            total = fl.loop_reduce(
                fl.load(x[i]), op=np.add, loop_indices=i, dtype=fl.bfloat16
            )
        return stored(total)

    expected = np.full((P, F), 645, F32).astype(ml_dtypes.bfloat16)
    assert_kernel_ok(functional.jit(value), a, expected=expected)


def test_masked_rows_keep_the_target() -> None:
    a = np.random.default_rng(1).permutation(P * F).reshape(P, F).astype(F32)

    def value(x: Any) -> Any:
        i, j = fl.mgrid[0:P, 0:8]
        dst = fl.zeros((P, 8), dtype=fl.int32, buffer=fl.sbuf)
        top = fisa.max8(src=fl.load(x), mask=i < 16)
        dst[i, j] = top  # another type: copied, and only where the mask holds
        return stored(dst)

    expected = np.sort(a)[:, :-9:-1].copy()
    expected[16:] = 0
    assert_kernel_ok(functional.jit(value), a, expected=expected)
