"""The functional generation: tiles are values, masks, accumulation, the launch grid."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.typing as nt
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.nki.functional import compiler
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]
Function = Callable[[Any], Any]
# Kernels are written without types: every name of the language is `Any` to them.
nl: Any = functional_language
nisa: Any = functional_isa


def case(function: Function, reference: Function | None) -> tuple[object, object]:
    """A function of a tile and the same one of NumPy."""
    return function, reference


def wrong(kernel: Function, message: str) -> tuple[object, str]:
    """A kernel that is refused."""
    return kernel, message


def normal(*shape: int) -> Array:
    return np.random.default_rng(3).standard_normal(shape, dtype=np.float32)


def made(module: ModuleOp) -> list[str]:
    """The instructions in order, without the dialect's name."""
    return [
        op.name.removeprefix("penguin.")
        for op in module.walk()
        if isinstance(op, Instruction)
    ]


def unary(function: Kernel, dtype: Any = None) -> Kernel:
    """A kernel that stores `function` of one tile."""

    def kernel(x: Any) -> Any:
        tile = function(nl.load(x))
        out = nl.ndarray(tile.shape, dtype or tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    return kernel


def run(function: Kernel, x: Array) -> Array:
    return nki.simulate(unary(function))(x)


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        case(lambda x: x + 1, lambda x: x + 1),
        case(lambda x: 2.5 - x, lambda x: 2.5 - x),
        case(lambda x: x * x - x, lambda x: x * x - x),
        case(lambda x: x / 4.0, lambda x: x / 4),
        case(lambda x: 1 / (x * x + 1), lambda x: 1 / (x * x + 1)),
        case(lambda x: -x, lambda x: -x),
        case(lambda x: nl.maximum(x, 0.5), lambda x: np.maximum(x, 0.5)),
        case(lambda x: nl.minimum(0.5, x), lambda x: np.minimum(x, 0.5)),
        case(lambda x: nl.add(x, x[:, 0:1]), lambda x: x + x[:, 0:1]),
        case(lambda x: x * nl.sum(x, axis=1, keepdims=True), None),
        case(lambda x: nl.where(x > 0, x, 0.0), lambda x: np.where(x > 0, x, 0)),
        case(lambda x: nl.where(x > 0, 1.0, x), lambda x: np.where(x > 0, 1, x)),
        case(lambda x: nl.max(x, axis=[1]), lambda x: x.max(1)),
        case(lambda x: nl.min(x, axis=-1, keepdims=True), lambda x: x.min(1)[:, None]),
        case(lambda x: nl.copy(x)[:, 8:16], lambda x: x[:, 8:16]),
        case(lambda x: x[0:1].broadcast_to((96, 32)), lambda x: x[:1] + 0 * x),
        case(lambda x: nl.square(x), lambda x: x * x),
        case(lambda x: nl.transpose(x), lambda x: x.T),
        case(
            lambda x: nisa.tensor_reduce(np.max, x, axis=(1,), negate=True),
            lambda x: -x.max(1),
        ),
        case(
            lambda x: nisa.tensor_scalar(
                x, np.multiply, 2.0, op1=np.subtract, operand1=1.0, reverse1=True
            ),
            lambda x: 1 - 2 * x,
        ),
        case(lambda x: nisa.tensor_tensor(x, x, op=nl.multiply), lambda x: x * x),
        case(lambda x: nisa.memset((96, 3), 2, np.float32), lambda x: 0 * x[:, :3] + 2),
        case(
            lambda x: nisa.iota(
                nl.arange(96)[:, None] * 4 + nl.arange(8)[None, :], nl.int32
            ),
            lambda x: np.arange(96)[:, None] * 4 + np.arange(8),
        ),
    ],
)
def test_exact_functions(function: Kernel, reference: Kernel | None) -> None:
    x = normal(96, 32)
    found = run(function, x)
    if reference is None:
        np.testing.assert_allclose(found, x * x.sum(1)[:, None], rtol=1e-4, atol=1e-4)
        return
    np.testing.assert_array_equal(found, reference(x))


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        case(nl.exp, np.exp),
        case(nl.tanh, np.tanh),
        case(lambda x: nl.rsqrt(x * x + 1), lambda x: 1 / np.sqrt(x * x + 1)),
        case(lambda x: nl.reciprocal(x + 9), lambda x: 1 / (x + 9)),
        case(lambda x: nl.sin(x * 10), lambda x: np.sin(x * 10)),
        case(lambda x: nl.cos(x * 10), lambda x: np.cos(x * 10)),
        case(lambda x: nl.mean(x, axis=1), lambda x: x.mean(1)),
        case(lambda x: nl.var(x, axis=1), lambda x: x.var(1)),
        case(
            lambda x: nl.softmax(x, axis=1),
            lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
        ),
        case(
            lambda x: nl.rms_norm(x, x, axis=1, n=32),
            lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * x,
        ),
        case(
            lambda x: nisa.activation(np.exp, x, bias=x[:, 0:1], scale=0.5),
            lambda x: np.exp(x * 0.5 + x[:, 0:1]),
        ),
    ],
)
def test_approximate_functions(function: Kernel, reference: Kernel) -> None:
    x = normal(96, 32)
    np.testing.assert_allclose(run(function, x), reference(x), rtol=2e-5, atol=5e-6)


def test_result_types() -> None:
    def types(x: Any) -> Any:
        half = nl.copy(x, dtype=nl.float16)
        small = nl.copy(x, dtype=nl.int8)
        assert (half + half).dtype == nl.float16
        assert (half * 1.5).dtype == nl.float32
        assert (half + nl.copy(x, dtype=nl.bfloat16)).dtype == nl.float32
        assert (small + 1).dtype == nl.int32
        assert (small > 1).dtype == nl.uint8
        assert nl.add(small, small, dtype=np.float32).dtype == "float32"
        assert nl.copy(x, dtype=ml_dtypes.bfloat16).dtype == nl.bfloat16
        return half

    nki.trace(unary(types))(tensor_spec("f32", (96, 32)))


def test_an_accumulating_matmul_is_one_instruction() -> None:
    def kernel(left: Any, right: Any) -> Any:
        out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
        psum = nl.zeros((nl.par_dim(128), 64), nl.float32, buffer=nl.psum)
        for k in nl.affine_range(3):
            a = nl.load(left[nl.ds(k * 128, 128)])
            b = nl.load(right[nl.ds(k * 128, 128)])
            psum[...] += nl.matmul(a, b, transpose_x=True)
        psum += nisa.nc_matmul(a, b) if False else 0.0
        nl.store(out, psum)
        return out

    left, right = normal(384, 128), normal(384, 64)
    module = nki.trace(kernel)(left, right)
    assert made(module).count("matmul") == 1
    assert "tensor_tensor" not in made(module)
    found = nki.simulate(kernel)(left, right)
    np.testing.assert_allclose(found, left.T @ right, rtol=1e-4, atol=1e-4)


def test_a_matmul_used_as_a_value_and_one_that_is_not_used() -> None:
    def kernel(left: Any, right: Any) -> Any:
        out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
        a, b = nl.load(left), nl.load(right)
        product = nisa.nc_matmul(a, b)
        doubled = product + product * 1.0
        nisa.nc_matmul(a, b)
        nl.store(out, doubled)
        return out

    left, right = normal(96, 128), normal(96, 64)
    module = nki.trace(kernel)(left, right)
    assert made(module).count("matmul") == 2
    found = nki.simulate(kernel)(left, right)
    np.testing.assert_allclose(found, 2 * (left.T @ right), rtol=1e-4, atol=1e-4)


def test_what_a_matmul_reads_is_read_before_it_changes() -> None:
    def kernel(left: Any, right: Any) -> Any:
        out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
        a, b = nl.load(left), nl.load(right)
        psum = nl.zeros((128, 64), nl.float32, buffer=nl.psum)
        product = nisa.nc_matmul(a, b)
        b[...] = 0.0
        psum += product
        nl.store(out, psum)
        return out

    left, right = normal(96, 128), normal(96, 64)
    found = nki.simulate(kernel)(left, right)
    np.testing.assert_allclose(found, left.T @ right, rtol=1e-4, atol=1e-4)


def test_assignment_writes_in_place_where_it_can() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((96, 32), nl.float32, buffer=nl.shared_hbm)
        tile = nl.ndarray((96, 32), nl.float32)
        tile[...] = nl.load(x)  # moves
        tile[:, 0:16] = nl.multiply(tile[:, 0:16], 2.0)  # moves: the same elements
        tile[:, 1:32] = nl.copy(tile[:, 0:31])  # copies: it reads what it writes
        named = nl.add(tile, 1.0)
        tile[...] = named  # copies: `named` is used again
        tile[0:32, 0:1] = 5.0
        nl.store(out, tile + named)
        return out

    x = normal(96, 32)
    assert made(nki.trace(kernel)(x)) == [
        "sb_atom_load",
        "tensor_scalar_ptr",
        "tensor_copy",
        "tensor_copy",
        "tensor_scalar_ptr",
        "tensor_copy",
        "memset",
        "tensor_tensor",
        "sb_atom_store",
    ]
    want = x.copy()
    want[:, :16] *= 2
    want[:, 1:] = want[:, :-1].copy()
    named = want + 1
    want = named.copy()
    want[:32, 0] = 5
    np.testing.assert_array_equal(nki.simulate(kernel)(x), want + named)


def test_a_masked_value_leaves_the_rest_of_what_it_is_assigned_to() -> None:
    def kernel(x: Any, keep_name: bool) -> Any:
        out = nl.ndarray((96, 32), nl.float32, buffer=nl.shared_hbm)
        p, f = nl.mgrid[0:96, 0:32]
        tile = nl.full((96, 32), 7.0, nl.float32)
        if keep_name:
            value = nl.load(x[p, f], mask=p < 50)
            tile[p, f] = value
        else:
            tile[p, f] = nl.load(x[p, f], mask=p < 50)
        tile[f < 3] = 1.0
        nl.store(out[p, f], tile)
        return out

    x = normal(96, 32)
    want = np.where(np.arange(96)[:, None] < 50, x, 7).astype(np.float32)
    want[:, :3] = 1
    for keep in (False, True):
        np.testing.assert_array_equal(nki.simulate(kernel)(x, keep), want)


def test_block_dimensions_become_free_ones() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((256, 32), nl.float32, buffer=nl.shared_hbm)
        tiles = nl.zeros((2, nl.par_dim(128), 32), nl.float32)
        for block in nl.affine_range(2):
            tiles[block] = nl.load(x[nl.ds(block * 128, 128)])
        for block in nl.affine_range(2):
            nl.store(out[nl.ds(block * 128, 128)], tiles[1 - block])
        return out

    x = normal(256, 32)
    module = nki.trace(kernel)(x)
    assert "penguin.alloc blocks 2 : <128x2x32xf32, sbuf>" in str(module)
    want = np.concatenate([x[128:], x[:128]])
    np.testing.assert_array_equal(nki.simulate(kernel)(x), want)


def blocks_of_psum(count: int, width: int) -> Kernel:
    """Products with a block of PSUM each, more than there is PSUM."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray((32, width), nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        sums = nl.ndarray((count, nl.par_dim(32), width), nl.float32, buffer=nl.psum)
        total = nl.zeros((32, width), nl.float32, buffer=nl.sbuf)
        for block in nl.sequential_range(count):
            sums[block] = nisa.nc_matmul(tile[:, 0:32], tile)
            total += sums[block]
        nl.store(out, total)
        return out

    return kernel


def test_each_block_has_a_place_of_its_own_to_be_found() -> None:
    x = np.rint(normal(32, 512) * 2)
    expected = 20 * (x[:, :32].T @ x)
    assert_kernel_ok(nki.jit(blocks_of_psum(20, 512)), x, expected=expected)
    message = r"each of 20 blocks of a tensor of shape \(32, 20, 5000\) .* needs 20000"
    with pytest.raises(NKIError, match=message):
        nki.trace(blocks_of_psum(20, 5000))(normal(32, 5000))


def grid_kernel(x: Any) -> Any:
    out = nl.ndarray((256, 64), nl.float32, buffer=nl.shared_hbm)
    i, j = nl.program_id(0), nl.program_id(1)
    assert (nl.num_programs(), nl.num_programs(0), nl.program_ndim()) == (4, 2, 2)
    rows, columns = nl.ds(i * 128, 128), nl.ds(j * 32, 32)
    nl.store(out[rows, columns], nl.load(x[rows, columns]) * 2.0)
    return out


def branching_kernel(x: Any) -> Any:
    out = nl.ndarray((256, 64), nl.float32, buffer=nl.shared_hbm)
    rows, columns = nl.ds(nl.program_id(0) * 128, 128), nl.ds(nl.program_id(1) * 32, 32)
    tile = nl.load(x[rows, columns])
    if nl.program_id(0) == 0:
        tile = tile * 2.0
    nl.store(out[rows, columns], tile)
    return out


def test_the_launch_grid_is_rolled_unless_python_branches_on_it() -> None:
    x = normal(256, 64)
    rolled = nki.trace(nki.simulate(grid_kernel)[2, 2])(x)
    assert str(rolled).count("penguin.for spmd") == 2
    assert made(rolled).count("sb_atom_load") == 1
    np.testing.assert_array_equal(nki.simulate(grid_kernel)[2, 2](x), x * 2)

    once_each = nki.trace(nki.simulate(branching_kernel)[2, 2])(x)
    assert "penguin.for" not in str(once_each)
    assert made(once_each).count("sb_atom_load") == 4
    assert made(once_each).count("tensor_scalar_ptr") == 2
    assert str(once_each).count("hbm>") == 2  # x and one shared output
    want = x.copy()
    want[:128] *= 2
    np.testing.assert_array_equal(nki.simulate(branching_kernel)[2, 2](x), want)


def test_a_grid_dimension_may_be_spread_over_cores() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((8, 4), nl.float32, buffer=nl.shared_hbm)
        rows = nl.ds(nl.program_id(0) * 2, 2)
        nl.store(out[rows], nl.load(x[rows]))
        return out

    x = normal(8, 4)
    for dim, first in (
        (nl.nc(2) * 2, "shard"),
        (nl.spmd_dim(nl.nc(2), 2), "shard"),
        (2 * nl.nc(2), "spmd"),
    ):
        assert (int(dim), dim == 4) == (4, True)
        text = str(nki.trace(nki.simulate(kernel)[dim])(x))
        assert f"penguin.for {first} %g0 = 0 to 2" in text
        assert "%g0 * 16 + %g0_1 * 8" in text
        np.testing.assert_array_equal(nki.simulate(kernel)[dim](x), x)
    assert repr(nl.nc(2) * 4) == "nc(2) * 4"
    with pytest.raises(NKIError, match="spmd_dim expect at least 1 argument!"):
        nl.spmd_dim()


def test_tiles_broadcast_partitions_and_free_dimensions_by_themselves() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((96, 2, 4), nl.float32, buffer=nl.shared_hbm)
        column = nl.ndarray((96, 1), nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        total = nl.sum(tile, axis=1)
        assert total.shape == (96,)
        nl.store(column, total)
        nl.store(out, nl.load(x.reshape((96, 2, 4))) + tile[:, 0:4] + total)
        return out, column

    x = np.rint(normal(96, 8) * 8)
    found, column = nki.simulate(kernel)(x)
    total = x.sum(1)
    np.testing.assert_array_equal(column[:, 0], total)
    want = x.reshape(96, 2, 4) + x[:, None, :4] + total[:, None, None]
    np.testing.assert_array_equal(found, want)


def test_placements_are_memory_regions() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((96, 4), nl.float32, buffer=nl.shared_hbm)
        place = compiler.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,))
        tiles = nl.ndarray((2, nl.par_dim(96), 4), nl.float32, buffer=place)
        place = compiler.psum.mod_alloc(base_bank=0)
        psum = nl.zeros((96, 4), nl.float32, buffer=place)
        tiles[1] = nl.load(x)
        nl.store(out, nl.add(tiles[1], psum))
        return out

    x = normal(96, 4)
    assert "<96x4xf32, psum>" in str(nki.trace(kernel)(x))
    np.testing.assert_array_equal(nki.simulate(kernel)(x), x)


def test_constants_are_made_once() -> None:
    table = np.arange(96 * 4, dtype=np.int16).reshape(96, 4)

    def kernel(x: Any) -> Any:
        out = nl.ndarray((96, 4), nl.float32, buffer=nl.shared_hbm)
        for _ in nl.affine_range(1):
            eye = nl.load(nl.shared_identity_matrix(96, dtype=nl.bfloat16))
            again = nl.load(nl.shared_identity_matrix(96, dtype=nl.bfloat16))
            constant = nl.load(nl.shared_constant(table, dtype=nl.float32))
            ones = nl.load(nl.shared_constant(np.ones((96, 4))))
            assert ones.dtype == nl.float32
            same = nl.matmul(eye + again, nl.copy(ones, dtype=nl.bfloat16))
            nl.store(out, constant + same + nl.load(x))
        return out

    x = np.rint(normal(96, 4) * 4)
    text = str(nki.trace(kernel)(x))
    assert text.count("penguin.constant identity : <96x96xbf16, hbm>") == 1
    assert text.count("penguin.constant splat 1.0 : <96x4xf32, hbm>") == 1
    assert text.count("penguin.constant bytes") == 1
    assert text.index("penguin.constant") < text.index("penguin.for")
    np.testing.assert_array_equal(nki.simulate(kernel)(x), table + 2 + x)


def test_gather_and_scatter() -> None:
    def kernel(table: Any, index: Any) -> Any:
        out = nl.ndarray((64, 16), nl.float32, buffer=nl.shared_hbm)
        rows = nl.load(index)
        f = nl.arange(16)[None, :]
        tile = nl.load(table[rows, f])
        nl.store(out, tile)
        nl.atomic_rmw(table[rows, f], tile, op=np.add)
        return out

    kernel.__annotations__["table"] = nt.mutable_tensor
    table = normal(100, 16)
    index = np.random.default_rng(0).integers(0, 100, (64, 1), dtype=np.int32)
    given = table.copy()
    found = nki.simulate(kernel)(given, index)
    np.testing.assert_array_equal(found, table[index[:, 0]])
    want = table.copy()
    np.add.at(want, index[:, 0], table[index[:, 0]])
    np.testing.assert_allclose(given, want, rtol=1e-6)
    assert "inout table" in str(nki.trace(kernel)(table, index))


def add_one(x: Any, y: Any) -> None:
    nl.store(y, nl.load(x) + 1.0)


@pytest.mark.parametrize(
    "annotation", [nt.mutable_tensor, nt.mutable_tensor[96, 32], "nt.mutable_tensor"]
)
def test_a_mutable_parameter_is_updated(annotation: object) -> None:
    def kernel(x: Any, y: Any) -> None:
        add_one(x, y)

    kernel.__annotations__["y"] = annotation
    x, y = normal(96, 32), normal(96, 32)
    assert nki.simulate(kernel)(x, y) is None
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.parametrize("annotation", [nt.tensor, Any, "nt.tensor", "what.ever"])
def test_another_parameter_is_not(annotation: object) -> None:
    def kernel(x: Any, y: Any) -> None:
        add_one(x, y)

    kernel.__annotations__["y"] = annotation
    x, y = normal(96, 32), normal(96, 32)
    with pytest.raises(NKIError, match="Cannot update immutable parameter `y`"):
        nki.simulate(kernel)(x, y)
    np.testing.assert_array_equal(y, normal(96, 32))


def test_what_was_never_written_is_not_read() -> None:
    def in_sbuf(x: Any) -> Any:
        fresh = nl.ndarray((96, 32), nl.float32)
        return fresh + nl.load(x)

    def in_hbm(x: Any) -> Any:
        out = nl.ndarray((96, 32), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.load(nl.ndarray((96, 32), nl.float32, buffer=nl.private_hbm)))
        return out

    def written_first(x: Any) -> Any:
        out = nl.ndarray((96, 32), nl.float32, buffer=nl.shared_hbm)
        fresh = nl.ndarray((96, 32), nl.float32)
        fresh[0:96, 0:16] = nl.load(x[0:96, 0:16])
        fresh[0:96, 16:32] = fresh[0:96, 0:16] * 2.0
        nl.store(out, fresh)
        return out

    x = normal(96, 32)
    for kernel, name in ((in_sbuf, "'fresh' in sbuf"), (in_hbm, "in hbm")):
        with pytest.raises(NKIError, match=f"{name} is read, but was never written"):
            nki.trace(kernel)(x)
    found = nki.simulate(written_first)(x)
    np.testing.assert_array_equal(found[:, 16:], x[:, :16] * 2)


def tile_of(x: Any) -> Any:
    return nl.load(x)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        wrong(
            lambda x: x.__setitem__(0, tile_of(x)),
            "cannot be directly assigned",
        ),
        wrong(
            lambda x: nl.atomic_rmw(x, tile_of(x), op=np.add),
            "`dst` only supports",
        ),
        wrong(lambda x: nl.atomic_rmw(x, tile_of(x), op=np.max), "op=maximum"),
        wrong(lambda x: nl.sum(tile_of(x), axis=0), "Reduction on partition axes"),
        wrong(
            lambda x: nl.sum(tile_of(x), axis=2),
            r"axis \(2,\) is not within 2",
        ),
        wrong(lambda x: nl.load(tile_of(x)), "load reads a tensor in hbm"),
        wrong(lambda x: nl.store(tile_of(x), 1.0), "to be in address space 'hbm'"),
        wrong(lambda x: tile_of(x) + "y", "`operand` must be a number, got str"),
        wrong(lambda x: bool(tile_of(x) > 1), "depending on tensor value"),
        wrong(lambda x: nl.exp(1.0), "needs a tile among its operands"),
        wrong(lambda x: nl.exp(tile_of(x), tile_of(x)), "takes 1 operands, got 2"),
        wrong(lambda x: nl.bypass(tile_of(x)), "takes 2 operands, got 1"),
        wrong(lambda x: nl.load(x, mask=1), "NKI mask expressions must be affine"),
        wrong(lambda x: nl.load(x, dtype="f99"), "Unsupported dtype 'f99'"),
        wrong(
            lambda x: nl.ndarray((200, 2), nl.float32),
            "partitions 200 exceed",
        ),
        wrong(
            lambda x: nl.ones((2, 2), nl.float32, nl.hbm),
            "Creating HBM tensor",
        ),
        wrong(
            lambda x: nl.ndarray((2, 2), nl.float32, buffer="x"),
            "`buffer` is 'x'",
        ),
        wrong(lambda x: nl.ndarray((2, 0.5), nl.float32), "`shape` must be a tuple"),
        wrong(lambda x: nl.program_id(1), "axis in `program_id` is out-of-bound"),
        wrong(lambda x: nisa.activation(nl.add, tile_of(x)), "is not supported in"),
        wrong(
            lambda x: nisa.tensor_scalar(tile_of(x), np.add, 1.0, op1=np.add),
            "op1 input arguments must be both provided or both None",
        ),
        wrong(
            lambda x: nisa.nc_matmul(tile_of(x), tile_of(x), mask=None, foo=1) + 1,
            "foo",
        ),
        wrong(
            lambda x: nl.load(x, nl.float32, 3),
            r"too many positional arguments; it accepts",
        ),
        wrong(lambda x: nl.matmul(tile_of(x)), "missing a required argument: 'y'"),
        wrong(
            lambda x: nisa.memset((2, 2), 0.0, nl.float32, engine=nisa.engine.tensor),
            "Memset engine can only be Vector or GpSIMD or Unknown",
        ),
        wrong(lambda x: nl.shared_hbm.foo, "foo"),
    ],
)
def test_messages(kernel: Kernel, message: str) -> None:
    with pytest.raises((NKIError, AttributeError, TypeError), match=message):
        nki.trace(kernel)(tensor_spec("f32", (96, 32)))
