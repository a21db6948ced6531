"""What instructions of both languages refuse, at the line of the kernel."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_pieces import (
    Kernel,
    fl,
    loaded,
    nisa,
    nl,
    saved,
    stored,
    tile,
)

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.tracer.errors import NKIError

fisa: Any = functional_isa

P, F = 32, 40


def limit(call: Callable[[Any, Any], Any], message: str) -> Any:
    """A call on a tile and a column that is refused."""
    return pytest.param(call, message, id=message[:24])


def indexed(call: Callable[[Any, Any, Any, Any], Any], message: str) -> Any:
    """A functional call, which also has the axes of the tile, that is refused."""
    return pytest.param(call, message, id=message[:24])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        limit(
            lambda t, c: nisa.iota(tile(P, 32), [[1, 2]] * 5),
            "`pattern` of iota has 5 dimensions, at most 4",
        ),
        limit(
            lambda x, c: nisa.tensor_tensor_scan(x, x, x, 0.0, nl.bitwise_and, nl.add),
            "expected an arithmetic operation",
        ),
        limit(
            lambda x, c: nisa.scalar_tensor_tensor(x, x, nl.add, x, nl.add, x),
            "must hold one element for each",
        ),
        limit(
            lambda x, c: nisa.tensor_scalar_reduce(x, x, nl.add, 1.0, nl.divide, c),
            "divide is not supported in",
        ),
        limit(
            lambda x, c: nisa.activation_reduce(x, nl.exp, x, nl.maximum, c),
            "reduce_op max is not supported",
        ),
        limit(
            lambda x, c: nisa.tensor_partition_reduce(x, nl.multiply, x),
            "par_reduce does not support operator=mult",
        ),
        limit(
            lambda x, c: nisa.max8(x[:, 0:8], x[:, 8:12]), "must be between 8 and 16384"
        ),
        limit(
            lambda x, c: nisa.nc_find_index8(x[:, 0:8], x, x[:, 0:4]),
            "must have exactly 8",
        ),
        limit(
            lambda x, c: nisa.bn_aggr(x[:, 0:2], x[:, 0:4]), "must be a multiple of 3"
        ),
        limit(
            lambda x, c: nisa.affine_select(x, [[1, 7]], 1, x, 0.0),
            "affine_select pattern has 7 elements per partition",
        ),
        limit(
            lambda x, c: nisa.range_select(
                x, x, nl.less, nl.less, c, c, on_false_value=0.0
            ),
            "on_false_value must be",
        ),
        limit(
            lambda x, c: nisa.select_reduce(x, x, x, 0.0),
            "`predicate` must be a boolean or integer tile",
        ),
        limit(
            lambda x, c: nisa.tensor_scalar_cumulative(x, x, nl.add, nl.divide, 1.0),
            "divide is not supported in",
        ),
        limit(lambda x, c: nisa.exponential(x, x), "available on trn3 or later"),
        limit(
            lambda x, c: nisa.activate2(x, nl.exp, x, 1.0, None, nl.add, None),
            "available on trn3 or later",
        ),
        limit(
            lambda x, c: nisa.nonzero_with_count(x, x), "one of the following dtypes"
        ),
        limit(
            lambda x, c: nisa.sequence_bounds(x, x), "'src' must have partition size 1"
        ),
        limit(lambda x, c: nisa.dropout(x, x, x), "must hold one element"),
        limit(lambda x, c: nisa.rng(x), "must be an integer tile"),
        limit(
            lambda x, c: nisa.rand_set_state(x, engine=nisa.scalar_engine),
            "engine must be vector or gpsimd",
        ),
        limit(lambda x, c: nisa.quantize_mx(x, x, c), "available on trn3 or later"),
        limit(lambda x, c: nisa.nc_matmul_mx(x, x, x, c, c), "number of|psum|trn3"),
        limit(
            lambda x, c: nisa.nc_matmul(c, x, x, accumulate="yes"),
            "`accumulate` must be True, False or None, got str",
        ),
        limit(lambda x, c: nisa.tensor_copy(x, None), "'src' cannot be None."),
        limit(lambda x, c: nisa.dma_copy(None, x), "'dst' cannot be None."),
        limit(lambda x, c: nisa.iota(x, [1, 40]), "a list of .step, number. pairs"),
        limit(lambda x, c: nisa.iota(x, [[1.5, 40]]), "got float .1.5. in it"),
        limit(lambda x, c: nisa.iota(x, [[1, 40]], 0.5), "`offset` must be int"),
        limit(lambda x, c: nisa.memset(x, 10**400), "does not fit into 64 bits"),
    ],
)
def test_limits(call: Kernel, message: str) -> None:
    @nki.jit(platform_target="trn2")
    def kernel(x: Any) -> Any:
        given = loaded(x)
        call(given, tile(P, 1))
        return saved(given)

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(tensor_spec("f32", (P, F)))
    place = raised.value.location
    assert place is not None
    assert place.file == __file__


def row_of(call: Kernel) -> Kernel:
    """A functional kernel with a column, and index axes, for `call`."""

    def kernel(x: Any) -> Any:
        given = fl.load(x)
        row = fl.ndarray((P, 1), dtype=fl.float32, buffer=fl.sbuf)
        i, j = fl.mgrid[0:P, 0:F]
        return stored(call(given, row, i, j))

    return kernel


@pytest.mark.parametrize(
    ("call", "message"),
    [
        indexed(
            lambda x, r, i, j: fisa.tensor_copy(x[:, 0:20], mask=j < 3),
            "does not fit lanes of shape",
        ),
        indexed(
            lambda x, r, i, j: fisa.nc_matmul(x, x[:, 0:20], mask=(i < 3) & (j < 3)),
            "is not over the result's shape",
        ),
        indexed(
            lambda x, c, i, j: fisa.affine_select((i < 2) & (j < 3), x, 0.0),
            "only supports single predicate",
        ),
        indexed(
            lambda x, c, i, j: fisa.max8(src=x, mask=j < i),
            "leaves rows of different lengths",
        ),
        indexed(
            lambda x, c, i, j: fisa.activation(
                np.exp,
                x,
                reduce_op=np.add,
                reduce_res=c,
                reduce_cmd=fisa.reduce_cmd.reduce,
            ),
            "no instruction in front of it has reset",
        ),
        indexed(
            lambda x, c, i, j: fisa.activation(
                np.exp, x, reduce_op=np.add, reduce_res=c
            ),
            "no instruction in front of it has reset",
        ),
    ],
)
def test_functional_limits(call: Kernel, message: str) -> None:
    with pytest.raises(NKIError, match=message) as raised:
        functional.trace(row_of(call))(tensor_spec("f32", (P, F)))
    assert raised.value.location is not None


def test_predicated_copies_of_four_free_dimensions() -> None:
    def kernel(step: int) -> Any:
        def run(x: Any) -> Any:
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            tile = nl.ndarray((64, 512), nl.float32, buffer=nl.sbuf)
            where = nl.ndarray((64, 16), nl.uint8, buffer=nl.sbuf)
            nisa.memset(tile, 0.0)
            nisa.memset(where, 1)
            pattern = [[512, 64], [64, 2], [16, 2], [4, 2], [step, 2]]
            nisa.tensor_copy_predicated(tile.ap(pattern), 1.0, where)
            nisa.dma_copy(dst=out, src=tile)
            return out

        return run

    x = np.zeros((64, 512), np.float32)
    assert nki.simulate(kernel(2))(x).sum() == 64 * 16
    with pytest.raises(NKIError, match="`dst` has 4 free dimensions, at most 3"):
        nki.simulate(kernel(1))(x)
