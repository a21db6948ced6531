"""Tensor indirection: what is refused, addresses of indices, documents (trn3)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from picked_columns import (
    COLUMNS,
    COUNT,
    INDEX,
    OFFSETS,
    TABLE,
    X,
    indices,
    jit,
    load,
    out_of,
    take,
)

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.json import from_json, to_json
from xdsl_neuron.nki import isa, language
from xdsl_neuron.passes.levels import lowered
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa

Refused = Callable[[Any, Any, Any], None]
"""A call with a tile [32, 40], an index of 32 offsets and a result [32, 16]."""


def ps(*shape: int) -> Any:
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.psum)


def packed(columns: int) -> Any:
    return nl.ndarray((32, columns), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)


def scale(columns: int) -> Any:
    return nl.ndarray((32, columns), dtype=nl.uint8, buffer=nl.sbuf)


REFUSED: dict[str, tuple[Refused, str]] = {
    "another number of columns": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 17)),
        "tile shape mismatch",
    ),
    "fewer partitions": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i[:16], 16)),
        "number of partitions mismatch",
    ),
    "a strided view": (
        lambda x, i, o: nisa.tensor_copy(o, x[:, ::2].indirect(i, 16)),
        "needs contiguous free dimensions",
    ),
    "the second input": (
        lambda x, i, o: nisa.tensor_tensor(o, o, x.indirect(i, 16), nl.add),
        "'rhs' of 'penguin.tensor_tensor' does not support tensor indirection",
    ),
    "an instruction without": (
        lambda x, i, o: nisa.reciprocal(o, x.indirect(i, 16)),
        "does not support tensor indirection",
    ),
    "a DMA": (
        lambda x, i, o: nisa.dma_copy(o, x.indirect(i, 16)),
        "DMA Instruction cannot have TensorIndirect AP",
    ),
    "a destination without": (
        lambda x, i, o: nisa.memset(x.indirect(i, 16), 0.0),
        "does not support tensor indirection; write a tile, and scatter it into",
    ),
    "into which a DMA writes": (
        lambda x, i, o: nisa.dma_copy(x.indirect(i, 16), o),
        "or scatter on chip with nisa.tensor_copy behind it",
    ),
    "a view of it": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 16)[:, :16]),
        "call indirect() on it",
    ),
    "a type of it": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 16).view(nl.int32)),
        "call indirect() on it",
    ),
    "a half of a pair": (
        lambda x, i, o: nisa.nc_matmul_mx(
            ps(16, 16), packed(32).indirect(i, 16), packed(16), scale(32), scale(16)
        ),
        "must agree on tensor indirection",
    ),
    "a pair with two indices": (
        lambda x, i, o: nisa.nc_matmul_mx(
            ps(16, 16),
            packed(32).indirect(i, 16),
            packed(16),
            scale(32).indirect(i[:, 1:], 16),
            scale(16),
        ),
        "must use .indirect() with the same index",
    ),
    "twice": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 16).indirect(i, 16)),
        "only one index",
    ),
    "in place": (
        lambda x, i, o: nisa.tensor_copy(x[:, :16], x.indirect(i, 16)),
        "write to another tile",
    ),
    "no index": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect([1, 2], 2)),
        "must be a tensor",
    ),
}


def _refused(emit: Refused) -> Any:
    def kernel(x: Any, index: Any) -> Any:
        out = nl.ndarray((32, 16), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(out, 0.0)
        emit(load(x), load(index), out)
        return out_of(out)

    return jit(kernel)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    emit, message = REFUSED[name]
    index, _ = indices(32, 32, COLUMNS)
    with pytest.raises(NKIError) as raised:
        _refused(emit).trace(X, index)
    assert message in str(raised.value)
    assert raised.value.location is not None


@pytest.mark.parametrize("written", [False, True])
def test_an_offset_behind_the_last_column(written: bool) -> None:
    index, _ = indices(32, 16, COLUMNS)
    index[3, 0] = COLUMNS

    def emit(x: Any, i: Any, o: Any) -> None:
        pair = (x.indirect(i, 16), o) if written else (o, x.indirect(i, 16))
        nisa.tensor_copy(*pair)

    with pytest.raises(DiagnosticError, match="offset 40 is out of bounds for 40"):
        _refused(emit)(X, index)


# -- where tiles are -----------------------------------------------------------------


def _at(shape: tuple[int, ...], dtype: Any, place: Any) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf, address=place)


def _picked_at(table: Any, index: Any) -> Callable[[Any, Any], Any]:
    def pick(x: Any, i: Any) -> Any:
        source, places = (
            _at(x.shape, x.dtype, table),
            _at(i.shape, i.dtype, index),
        )
        nisa.dma_copy(source, x)
        nisa.dma_copy(places, i)
        out = nl.ndarray((32, COUNT), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(out, source.indirect(places, COUNT))
        return out

    return pick


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("table", "index", "message"),
    [
        ((32, 0), (0, 4096), "'src' starts at partition 32 and 'src_index' at 0"),
        ((0, 0), (32, 4096), "'src' starts at partition 0 and 'src_index' at 32"),
        ((16, 0), (16, 4096), "'src_index' starts at partition 16, expected a mult"),
        ((32, 0), (32, 4096), None),
        ((32, 0), None, None),
        (None, (96, 4096), None),
    ],
)
def test_addresses_of_an_index(
    table: Any, index: Any, message: str | None, after: bool
) -> None:
    """Also where the same instruction was right at other addresses."""

    @jit
    def kernel(x: Any, i: Any) -> Any:
        if after:
            _picked_at((0, 8192), (0, 12288))(x, i)
        return out_of(_picked_at(table, index)(x, i))

    if message is None:
        assert_kernel_ok(kernel, X, INDEX, expected=take(X, OFFSETS))
        return
    with pytest.raises(NKIError, match=message):
        kernel.trace(X, INDEX)


def test_a_grid_of_picked_columns_is_refused() -> None:
    @jit
    def kernel(x: Any, index: Any) -> Any:
        nl.tiles(load(x).indirect(load(index), 16), tile_shape=(16, 4))

    with pytest.raises(NKIError, match="call indirect\\(\\) on it"):
        kernel.trace(X, INDEX)


# -- JSON ----------------------------------------------------------------------------

MALFORMED: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda made: made["ins"][0].update(tensor_indirect_arg_id=2),
        r"indirection_ins\[1\]: TensorCopy has no such indirection argument",
    ),
    (
        lambda made: made["outs"][0].update(tensor_indirect_arg_id=7),
        r"indirection_ins\[0\]: TensorCopy has no such indirection argument",
    ),
    (
        lambda made: made["ins"][0].update(tensor_indirect_arg_id=0),
        "'src' shares its index with another operand",
    ),
    (
        lambda made: made["indirection_ins"].pop(),
        "tensor_indirect_arg_id 1 names none of the 1 indirection arguments",
    ),
    (
        lambda made: made["ins"][0].pop("num_tensor_indirect_indices"),
        "'num_tensor_indirect_indices' is missing",
    ),
]


@pytest.mark.parametrize(("change", "message"), MALFORMED)
def test_arguments_of_a_document(change: Callable[[Any], Any], message: str) -> None:
    """An index is an indirection argument by its number, not by its turn."""

    @jit
    def kernel(x: Any, index: Any, table: Any) -> Any:
        result = load(table)
        places = load(index)
        nisa.tensor_copy(result.indirect(places, 16), load(x).indirect(places, 16))
        return out_of(result)

    module = lowered(kernel.trace(X, INDEX, TABLE), "bir")
    document = json.loads(json.dumps(to_json(module)))
    from_json(document)
    (block,) = document["functions"][0]["blocks"]
    (made,) = [
        each
        for each in block["instructions"]
        if len(each.get("indirection_ins", [])) > 1
    ]
    change(made)
    with pytest.raises(DiagnosticError, match=message):
        from_json(document)
