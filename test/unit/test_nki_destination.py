"""The destination-passing generations: destinations, views, access patterns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.isa as language_isa
import xdsl_neuron.nki.language as language
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.isa import MatmulAccumulate
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.tracer.errors import (
    NKIError,
    NKIIndexError,
    NKITypeError,
    NKIValueError,
)

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]
Function = Callable[[Any, Any], Any]
# Kernels are written without types: every name of the language is `Any` to them.
nl: Any = language
nisa: Any = language_isa


def normal(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape, dtype=np.float32)


def made(module: ModuleOp) -> list[str]:
    """The instructions in order, without the dialect's name."""
    return [
        op.name.removeprefix("penguin.")
        for op in module.walk()
        if isinstance(op, Instruction)
    ]


def tile(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def loaded(x: Any) -> Any:
    found = tile(*x.shape, dtype=x.dtype)
    nisa.dma_copy(found, x)
    return found


def saved(x: Any) -> Any:
    out = tile(*x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out


def unary(function: Function, shape: tuple[int, ...], dtype: Any = None) -> Kernel:
    """A kernel that stores what `function(dst, x)` writes to a tile."""

    def kernel(x: Any) -> Any:
        dst = tile(*shape, dtype=dtype or x.dtype)
        function(dst, loaded(x))
        return saved(dst)

    return kernel


def case(
    function: Function, reference: Callable[[Any], Any], dtype: Any = None
) -> tuple[object, object, Any]:
    """What an instruction does to a tile, and the same of NumPy."""
    return function, reference, dtype


def scaled(dst: Any, x: Any) -> None:
    column = tile(96, 1)
    nisa.memset(column, 3.0)
    nisa.tensor_scalar(dst, x, nl.multiply, column, op1=nl.subtract, operand1=1.0)


def predicated(dst: Any, x: Any) -> None:
    keep = tile(96, 32, dtype=nl.uint8)
    nisa.tensor_scalar(keep, x, nl.greater, 0.0)
    nisa.memset(dst, -1.0)
    nisa.tensor_copy_predicated(dst, x, keep)


def counted(dst: Any, x: Any) -> None:
    nisa.iota(dst, [[100, 4], [1, 8]], 5, channel_multiplier=1000)


NUMBERS = (
    np.arange(96)[:, None, None] * 1000 + np.arange(4)[:, None] * 100 + np.arange(8) + 5
)


@pytest.mark.parametrize(
    ("function", "reference", "dtype"),
    [
        case(lambda d, x: nisa.tensor_copy(d, x), lambda x: x),
        case(lambda d, x: nisa.tensor_copy(src=x, dst=d), np.rint, nl.int32),
        case(lambda d, x: nisa.tensor_tensor(d, x, x, nl.add), lambda x: x + x),
        case(lambda d, x: nisa.tensor_tensor(d, x, x, op=np.multiply), lambda x: x * x),
        case(lambda d, x: nisa.activation(d, nl.relu, x), lambda x: np.maximum(x, 0)),
        case(lambda d, x: nisa.memset(d, 2), lambda x: 0 * x + 2),
        case(scaled, lambda x: x * 3 - 1),
        case(predicated, lambda x: np.where(x > 0, x, -1)),
        case(counted, lambda x: NUMBERS.reshape(96, 32), nl.int32),
        case(
            lambda d, x: nisa.tensor_scalar(d, x, nl.subtract, 1.0, reverse0=True),
            lambda x: 1 - x,
        ),
        case(
            lambda d, x: nisa.activation(d, nl.identity, x, x[:, 1:2], scale=2.0),
            lambda x: x * 2 + x[:, 1:2],
        ),
    ],
)
def test_exact_instructions(
    function: Function, reference: Callable[[Any], Any], dtype: Any
) -> None:
    x = normal(96, 32)
    found = nki.simulate(unary(function, (96, 32), dtype))(x)
    np.testing.assert_array_equal(found, reference(x))


def test_reductions_and_reciprocal() -> None:
    def kernel(x: Any) -> Any:
        given, total, inverse = loaded(x), tile(96, 1), tile(96, 1)
        nisa.tensor_reduce(total, nl.add, given, axis=1, keepdims=True)
        nisa.reciprocal(inverse, total)
        low = tile(96, 4)
        nisa.tensor_reduce(
            low, nl.minimum, given.reshape_dim(1, (4, 8)), axis=[2], negate=True
        )
        return saved(inverse), saved(low)

    x = np.abs(normal(96, 32))
    inverse, low = nki.simulate(kernel)(x)
    np.testing.assert_allclose(inverse, 1 / x.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(low, -x.reshape(96, 4, 8).min(2))


def test_matmul_accumulates_as_it_is_told() -> None:
    def kernel(left: Any, right: Any) -> Any:
        a, b = loaded(left), loaded(right)
        psum, found = tile(64, 32, buffer=nl.psum), tile(64, 32)
        nisa.nc_matmul(psum, a, b)
        nisa.nc_matmul(dst=psum, stationary=a, moving=b, accumulate=False)
        nisa.nc_matmul(psum, a, b, accumulate=True)
        nisa.tensor_copy(found, psum)
        return saved(found)

    left, right = normal(96, 64), normal(96, 32)
    module = nki.trace(kernel)(left, right)
    told = [
        op.accumulate.data for op in module.walk() if isinstance(op, penguin.MatMulOp)
    ]
    assert told == [
        MatmulAccumulate.AUTO,
        MatmulAccumulate.OVERWRITE,
        MatmulAccumulate.ACCUMULATE,
    ]
    found = nki.simulate(kernel)(left, right)
    np.testing.assert_allclose(found, 2 * (left.T @ right), rtol=1e-4, atol=1e-4)


def test_transposes() -> None:
    def kernel(x: Any) -> Any:
        psum, found = tile(32, 96, buffer=nl.psum), tile(32, 96)
        nisa.nc_transpose(psum, loaded(x))
        nisa.tensor_copy(found, psum)
        small = tile(32, 32)
        nisa.nc_transpose(small, found[:, 0:32], engine=nisa.engine.vector)
        return saved(found), saved(small)

    x = normal(96, 32)
    found, small = nki.simulate(kernel)(x)
    np.testing.assert_array_equal(found, x.T)
    np.testing.assert_array_equal(small, x[:32])


def test_views_of_tiles_and_tensors() -> None:
    def kernel(x: Any) -> Any:
        given = loaded(x.reshape((96, 32)))
        assert given.shape == (96, 32)
        assert (given.dtype, given.buffer, given.ndim) == (nl.float32, nl.sbuf, 2)
        turned = given.reshape((96, 4, 8)).permute((0, 2, 1))
        found = tile(96, 8, 4)
        nisa.tensor_copy(found, turned)
        out = tile(96, 8, 4, buffer=nl.shared_hbm)
        nisa.dma_copy(out, found)
        row = tile(96, 8, 4)
        nisa.tensor_copy(row, given.expand_dim(1)[:, :, 0:4].broadcast(1, 8))
        return out, saved(row)

    x = normal(96 * 32)
    found, row = nki.simulate(kernel)(x)
    grid = x.reshape(96, 4, 8)
    np.testing.assert_array_equal(found, grid.transpose(0, 2, 1))
    wide = np.broadcast_to(x.reshape(96, 32)[:, None, :4], (96, 8, 4))
    np.testing.assert_array_equal(row, wide)


def test_access_patterns() -> None:
    def kernel(x: Any) -> Any:
        found = tile(32, 16)
        nisa.dma_copy(found, x.ap([[64, 32], [2, 16]], offset=33))
        shifted = tile(32, 16)
        nisa.tensor_copy(shifted, found.ap([[16, 32], [-1, 16]], offset=15))
        return saved(shifted)

    x = normal(96, 32)
    flat = x.ravel()
    want = flat[33 + 64 * np.arange(32)[:, None] + 2 * np.arange(16)[::-1]]
    np.testing.assert_array_equal(nki.simulate(kernel)(x), want)


def test_indirect_copies() -> None:
    def kernel(table: Any, index: Any, mode: Any) -> Any:
        rows, found = loaded(index), tile(64, 8)
        nisa.memset(found, -1.0)
        picked = table.ap([[16, 64], [1, 8]], offset=8, vector_offset=rows)
        nisa.dma_copy(found, picked, oob_mode=mode, dge_mode=nisa.dge_mode.swdge)
        nisa.dma_copy(picked, found, dst_rmw_op=nl.add)
        return saved(found)

    table = np.rint(normal(50, 16) * 100)
    index = np.random.default_rng(1).integers(0, 50, (64, 1), dtype=np.int32)
    given = table.copy()
    module = nki.trace(kernel)(table, index, nisa.oob_mode.error)
    assert made(module)[2:4] == ["neuron_indirect_load", "neuron_indirect_rmw"]
    found = nki.simulate(kernel)(given, index, nisa.oob_mode.error)
    picked = table[index[:, 0], 8:]
    np.testing.assert_array_equal(found, picked)
    want = table.copy()
    np.add.at(want[:, 8:], index[:, 0], picked)
    np.testing.assert_array_equal(given, want)


def test_dma_compute() -> None:
    def kernel(x: Any, y: Any, table: Any, index: Any) -> Any:
        out = tile(96, 32, buffer=nl.shared_hbm)
        nisa.dma_compute(out, [x, y], nl.add)
        nisa.dma_compute(out, [out, x], reduce_op=nl.add, scales=[1.0, 1.0])
        rows = loaded(index)
        target = table.ap([[8, 64], [1, 8]], vector_offset=rows)
        ones = tile(64, 8)
        nisa.memset(ones, 1.0)
        nisa.dma_compute(target, [target, ones], nl.add)
        return out, table

    x, y = normal(96, 32), normal(96, 32)
    table = np.zeros((10, 8), np.float32)
    index = np.random.default_rng(1).integers(0, 10, (64, 1), dtype=np.int32)
    found, same = nki.simulate(kernel)(x, y, table, index)
    np.testing.assert_array_equal(found, (x + y) + x)
    want = np.bincount(index[:, 0], minlength=10)[:, None] + np.zeros((10, 8))
    np.testing.assert_array_equal(table, want)
    np.testing.assert_array_equal(same, table)


def test_the_grid_traces_each_program_and_shares_the_output() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((96, 32), nl.float32, buffer=nl.shared_hbm)
        if nl.program_id(0) == 1:
            assert nl.num_programs(0) == 2
        rows = nl.ds(nl.program_id(0) * 48, 48)
        given = loaded(x[rows, :])
        nisa.dma_copy(out[rows, :], given)
        return out

    x = normal(96, 32)
    module = nki.trace(nki.simulate(kernel)[2])(x)
    assert made(module) == ["dma_copy"] * 4
    np.testing.assert_array_equal(nki.simulate(kernel)[2](x), x)


def test_targets_and_versions() -> None:
    seen: list[Any] = []

    def kernel(x: Any) -> Any:
        seen.append((nisa.get_nc_version(), nl.tile_size.total_available_sbuf_size))
        return saved(loaded(x))

    text = str(nki.trace(nki.jit(kernel))(tensor_spec("f32", (8, 8))))
    assert "#neuron.target<trn3>" in text
    jitted = nki.jit(kernel, platform_target="trn1")
    assert "#neuron.target<trn1>" in str(nki.trace(jitted)(tensor_spec("f32", (8, 8))))
    assert seen == [(nisa.nc_version.gen4, 245752), (nisa.nc_version.gen2, 180224)]
    assert nisa.nc_version.gen2 < nisa.nc_version.gen4


def wrong(kernel: Callable[[Any], Any], error: type[NKIError], message: str) -> Any:
    """A kernel that is refused."""
    return kernel, error, message


def both_indirect(x: Any) -> None:
    rows = tile(8, 1, dtype=nl.int32)
    nisa.memset(rows, 0)
    picked = x.ap([[32, 8], [1, 32]], vector_offset=rows)
    nisa.dma_copy(picked, picked)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        wrong(
            lambda x: nisa.dma_copy(tile(96, 32), x, foo=1),
            NKITypeError,
            r"dma_copy\(\) got an unexpected keyword argument 'foo'; it accepts dst, "
            "src, priority, oob_mode, dge_mode, engine, "
            "name",
        ),
        wrong(
            lambda x: nisa.dma_copy(tile(96, 32)),
            NKITypeError,
            r"dma_copy\(\) missing a required argument: 'src'; it accepts dst, src",
        ),
        wrong(
            lambda x: nisa.dma_copy(1, x), NKITypeError, "`dst` must be a tensor, got i"
        ),
        wrong(lambda x: x[0:97], NKIIndexError, r"dimension 0 index range \[0, 96\]"),
        wrong(
            lambda x: nisa.dma_copy(tile(96, 32), x, engine=nisa.engine.vector),
            NKIValueError,
            "dma_copy engine can only be specified when HWDGE mode is used.",
        ),
        wrong(
            lambda x: nisa.dma_copy(tile(96, 32), x, oob_mode=nisa.oob_mode.skip),
            NKIError,
            "oob_mode.skip is not supported for direct memory access. Only",
        ),
        wrong(
            lambda x: nisa.dma_copy(x, x, dst_rmw_op=nl.maximum),
            NKIError,
            "scatter op can only support bypass or add for now",
        ),
        wrong(
            both_indirect,
            NKIError,
            "``src`` and ``dst`` operands cannot both be indirect memory accesses",
        ),
        wrong(
            lambda x: nisa.nc_matmul(tile(96, 32), loaded(x), loaded(x)),
            NKIError,
            "Result buffer of matmult must be psum!",
        ),
        wrong(
            lambda x: nisa.nc_matmul(
                tile(32, 32, buffer=nl.psum), loaded(x), loaded(x), tile_size=(32, 32)
            ),
            NKIError,
            "nc_matmul tile_position and tile_size must be both set or not set.",
        ),
        wrong(
            lambda x: nisa.tensor_tensor(loaded(x), x, x, nl.add),
            NKIError,
            "Expected operand 'lhs' of 'penguin.tensor_tensor' to be in address space",
        ),
        wrong(
            lambda x: nisa.tensor_copy(tile(96, 32), loaded(x), dtype=nl.bfloat16),
            NKIValueError,
            "differs from that of dst",
        ),
        wrong(
            lambda x: nisa.tensor_tensor(tile(96, 32), loaded(x), loaded(x), "nope"),
            NKITypeError,
            "`op` is 'nope', expected an operation such as nl.add",
        ),
        wrong(
            lambda x: nisa.memset(tile(96, 32), "1"),
            NKITypeError,
            "`value` must be a number, got str",
        ),
        wrong(
            lambda x: nisa.memset(tile(96, 32), 1.0, engine="warp"),
            NKIValueError,
            "`engine` is 'warp', expected one of engine.unknown, engine.tensor",
        ),
        wrong(
            lambda x: nisa.iota(tile(96, 32), [[1, 31]]),
            NKIValueError,
            "iota pattern has 31 elements per partition, but must have exactly 32",
        ),
        wrong(
            lambda x: tile(96, 32).__setitem__(0, 1.0),
            NKIError,
            "NkiTensor cannot be directly assigned to a tensor, use store operation",
        ),
        wrong(lambda x: list(x), NKIError, "a tensor cannot be iterated over"),
        wrong(
            lambda x: x.ap([[1, 1]], scalar_offset=1.5),
            NKITypeError,
            "`scalar_offset` must be int or scalar",
        ),
        wrong(
            lambda x: nisa.dma_compute(x, [x, x], nl.multiply),
            NKIValueError,
            "dma_compute currently only supports nl.add as its reduce op!",
        ),
        wrong(
            lambda x: nisa.dma_compute(x, [tile(96, 32)], nl.add, [1.0, 1.0]),
            NKIValueError,
            "srcs and scales must have the same length",
        ),
        wrong(
            lambda x: nisa.activation(
                tile(96, 32), nl.exp, loaded(x), reduce_res=tile(96, 1)
            ),
            NKIError,
            "reads the accumulators of engine Activation, which no instruction in",
        ),
    ],
)
def test_messages(
    kernel: Callable[[Any], Any], error: type[NKIError], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        nki.trace(kernel)(tensor_spec("f32", (96, 32)))
    place = raised.value.location
    assert place is not None
    assert place.file == __file__


def test_outputs_are_checked() -> None:
    def part(x: Any) -> Any:
        return saved(loaded(x))[0:4]

    def on_chip(x: Any) -> Any:
        return loaded(x)

    def number(x: Any) -> Any:
        return 3

    for kernel, message in (
        (part, "returns part of"),
        (on_chip, "expected a tensor in HBM"),
        (number, r"returns int \(3\), expected tensors in HBM"),
    ):
        with pytest.raises(NKIError, match=message) as raised:
            nki.trace(kernel)(tensor_spec("f32", (96, 32)))
        assert raised.value.location is not None
        assert raised.value.location.line == kernel.__code__.co_firstlineno
