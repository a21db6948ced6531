"""Views are what NumPy's are: slicing, reshaping, access patterns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from xdsl_neuron.arch import TRN2
from xdsl_neuron.dialects.neuron import TensorType, whole
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import LoopKind, Space
from xdsl_neuron.nki.destination import NkiTensor
from xdsl_neuron.tracer.codegen import NeuronCodegen
from xdsl_neuron.tracer.errors import NKIError
from xdsl_neuron.tracer.index import IndexExpr, arange
from xdsl_neuron.tracer.layouts import DynamicSlice
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View, split_pairs

SHAPE = (6, 4, 10)


def codegen(masks: bool = False) -> NeuronCodegen:
    """A trace with one argument `a` of shape 6 x 4 x 10."""
    kind = TensorType.of(SHAPE, DType.FLOAT32, Space.HBM)
    return NeuronCodegen("k", [("a", kind)], TRN2, masks, NkiTensor)


def argument(masks: bool = False) -> NkiTensor:
    return NkiTensor.of(codegen(masks).arguments[0])


def chip() -> NkiTensor:
    made = codegen().new_tile(SHAPE, DType.FLOAT32, Space.SBUF, name="t")
    assert isinstance(made, NkiTensor)
    return made


def elements(view: View) -> npt.NDArray[np.int64]:
    """The flat element numbers a view names, in its own shape."""
    access = view.access()
    kind = view.base.type.data
    if access is None:
        access = whole(kind.shape, kind.space.on_chip)
    pattern = access.flat(view.pitch)
    flat: npt.NDArray[np.int64] = np.full((), pattern.start, np.int64)
    for step, num in pattern.pairs:
        flat = flat[..., None] + step * np.arange(num)
    return flat.reshape(view.shape)


NUMBERS = np.arange(np.prod(SHAPE)).reshape(SHAPE)


@st.composite
def ranges(draw: st.DrawFn, extent: int) -> Any:
    """A slice, `ds` or integer within a dimension."""
    start = draw(st.integers(0, extent - 1))
    kind = draw(st.sampled_from(["slice", "step", "back", "ds", "open"]))
    stop = draw(st.integers(start + 1, extent))
    if kind == "ds":
        return DynamicSlice(start, stop - start)
    if kind == "open":
        return slice(start - extent, None)
    if kind == "back":
        return slice(stop - 1, start - 1 if start else None, -draw(st.integers(1, 3)))
    return slice(start, stop, draw(st.integers(1, 3)) if kind == "step" else None)


def plain(item: Any) -> Any:
    if isinstance(item, DynamicSlice):
        assert isinstance(item.start, int)
        return slice(item.start, item.start + item.size)
    return item


@given(st.data(), st.sampled_from([argument, chip]))
def test_slices_of_slices_are_numpys(
    data: st.DataObject, make: Callable[[], NkiTensor]
) -> None:
    view, expected = make(), NUMBERS
    for _ in range(2):
        item = tuple(data.draw(ranges(extent)) for extent in view.shape)
        view = subscript(view, item)
        expected = expected[tuple(plain(i) for i in item)]
        assert view.shape == expected.shape
    np.testing.assert_array_equal(elements(view), expected)


def test_integers_drop_a_dimension_but_not_the_partition_one() -> None:
    np.testing.assert_array_equal(elements(argument()[2, :, 3]), NUMBERS[2, :, 3])
    np.testing.assert_array_equal(elements(argument()[-1, ..., -2]), NUMBERS[-1, :, -2])
    np.testing.assert_array_equal(elements(chip()[2, :, 3]), NUMBERS[2:3, :, 3])


def test_new_axes() -> None:
    np.testing.assert_array_equal(elements(argument()[:, None, 1]), NUMBERS[:, None, 1])
    with pytest.raises(NKIError, match="Cannot expand dims before partition"):
        chip()[None, :]


def test_index_tensors_are_numpys() -> None:
    p, f = arange(6)[:, None], arange(3)[None, :]
    found = argument()[p, 2, 3 * f + 1]
    expected = NUMBERS[np.arange(6)[:, None], 2, 3 * np.arange(3)[None, :] + 1]
    np.testing.assert_array_equal(elements(found), expected)
    found = chip()[p, f, 4]
    expected = NUMBERS[np.arange(6)[:, None], np.arange(3)[None, :], 4]
    np.testing.assert_array_equal(elements(found), expected)


def test_a_loop_index_in_a_slice() -> None:
    trace = codegen()
    with trace.scope(LoopKind.PARALLEL, range(2), "i") as loop:
        i = IndexExpr(Affine.index(loop.number))
        view = NkiTensor.of(trace.arguments[0])[i * 3 : i * 3 + 3, i]
        assert view.shape == (3, 10)
        assert str(view.layout.offset) == "d0 * 130"
        with pytest.raises(NKIError, match=r"dimension 0 index range \[0, 6\] exceed"):
            NkiTensor.of(trace.arguments[0])[i * 4 : i * 4 + 3]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (slice(0, 7), r"tensor `a` on dimension 0 index range \[0, 6\] exceed .* of 6"),
        (6, r"on dimension 0 index range \[6, 6\] exceed dimension size of 6"),
        (DynamicSlice(-1, 2), r"on dimension 0 index range \[-1, 0\] exceed"),
        (slice(0, 6, 0), r"step of `slice\(0, 6, 0\)` must be non-zero"),
        (slice(6, 0, -1), r"on dimension 0 index range \[1, 6\] exceed"),
        ((0, 0, 0, 0), "too many indices for 'a': it has 3 dimensions, got 4"),
        (True, "index of 'a' on dimension 0 is a bool"),
        ("x", r"`index` must be int or scalar\[int\], got str"),
        (1.0, r"`index` must be int or scalar\[int\], got float"),
        (slice(0.5, 2), r"`start` must be int or scalar\[int\]"),
        (
            (arange(6)[:, None], slice(0, 2)),
            "Mixing basic tensor indexing and",
        ),
    ],
)
def test_refused_indices(item: object, message: str) -> None:
    with pytest.raises(NKIError, match=message):
        argument()[item]


@pytest.mark.parametrize("item", [slice(3, 3), slice(0, 5, -1), DynamicSlice(2, 0)])
def test_slices_without_elements(item: object) -> None:
    """A value where loops are unrolled, refused in the language that has masks."""
    assert argument()[item].shape == (0, *SHAPE[1:])
    with pytest.raises(NKIError, match=r"slice of dimension 0 .* is empty"):
        argument(True)[item]


def test_a_1d_arange_on_chip_is_refused() -> None:
    with pytest.raises(NKIError, match="with 1d arange is not supported"):
        chip()[arange(6)]


def test_an_index_that_is_not_affine_in_its_axes_is_refused() -> None:
    with pytest.raises(NKIError, match="// and % are for loop indices"):
        argument()[arange(6)[:, None], 0, (arange(8) // 2)[None, :]]


@given(st.permutations([2, 3, 4, 10]))
def test_reshape_of_a_contiguous_tensor(shape: list[int]) -> None:
    np.testing.assert_array_equal(
        elements(argument().reshaped(shape)), NUMBERS.reshape(shape)
    )


def test_reshape_on_chip_keeps_partitions() -> None:
    np.testing.assert_array_equal(
        elements(chip().reshaped((6, -1))), NUMBERS.reshape(6, 40)
    )
    with pytest.raises(NKIError, match="must keep the partition dimension"):
        chip().reshaped((3, 80))
    with pytest.raises(NKIError, match="cannot change the number of elements"):
        chip().reshaped((6, 41))


def test_a_reshape_that_is_no_view_is_refused() -> None:
    with pytest.raises(NKIError, match="is not a view"):
        argument()[:, :, 0:5].reshaped((6, 20))


def test_split_pairs() -> None:
    assert split_pairs([(10, 6), (1, 10)], (3, 2, 10)) == ((20, 3), (10, 2), (1, 10))
    assert split_pairs([(10, 6), (1, 5)], (30,)) is None
    assert split_pairs([(2, 4), (1, 1)], (1, 4, 1)) == ((1, 1), (2, 4), (1, 1))


def test_broadcast_permute_and_reinterpretation() -> None:
    view = argument()[:, 0:1, :].expanded((6, 4, 10))
    expected = np.broadcast_to(NUMBERS[:, 0:1], SHAPE)
    np.testing.assert_array_equal(elements(view), expected)
    np.testing.assert_array_equal(
        elements(argument().permuted((2, 0, 1))), NUMBERS.transpose(2, 0, 1)
    )
    halves = argument().reinterpreted(DType.BFLOAT16)
    assert halves.shape == (6, 4, 20)
    assert elements(halves).ravel().tolist() == list(range(480))
    with pytest.raises(NKIError, match="needs a contiguous last dimension"):
        argument()[:, :, 0:10:2].reinterpreted(DType.UINT8)


def test_ap_in_hbm_and_on_chip() -> None:
    found = argument().pattern([[40, 3], [2, 5]], 41)
    np.testing.assert_array_equal(
        elements(found), 41 + 40 * np.arange(3)[:, None] + 2 * np.arange(5)
    )
    # On chip the first step is over partitions, in multiples of their 40 elements.
    found = chip().pattern([[40, 4], [0, 2], [1, 10]], 2 * 40 + 30)
    assert found.layout.partition == 2
    assert found.layout.offset == 30
    np.testing.assert_array_equal(elements(found)[:, 1], NUMBERS[2:6, 3, :])
    with pytest.raises(NKIError, match="expected a multiple of 40, got 30"):
        chip().pattern([[30, 4], [1, 10]])


def test_a_vector_offset_takes_the_base_tensors_stride() -> None:
    trace = codegen()
    index = trace.new_tile((4, 1), DType.INT32)
    table = NkiTensor.of(trace.arguments[0])
    found = table.pattern([[1, 4], [1, 10]], 20, index, 0)
    gather = found.layout.gather
    assert gather is not None
    assert (found.layout.pairs[0], gather.limit) == ((40, 4), 6)
    with pytest.raises(NKIError, match="the indexed tensor must be in hbm"):
        index.pattern([[1, 4], [1, 1]], 0, index)
    with pytest.raises(NKIError, match="indirect_dim 3 is no dimension of"):
        table.pattern([[1, 4]], 0, index, 3)


def test_a_tensor_has_no_truth_value() -> None:
    with pytest.raises(NKIError, match="depending on tensor value is not supported"):
        bool(chip()[0, 0, 0])
    with pytest.raises(NKIError, match="depending on tensor value is not supported"):
        bool(argument()[0, 0, 0])
    assert argument(), "an argument is there"
    assert argument()[0], "so is a part of it"
    assert chip(), "and a tile"


def test_index_lists_are_read_back_from_the_view() -> None:
    tile = chip()
    assert tile.canonical_par_indices == ((1, 6),)
    assert tile.canonical_free_indices == ((1, 10), (10, 4))
    part = tile[2:3, 1:2, 0:10:3]
    assert part.canonical_par_indices == ()
    assert part.canonical_free_indices == ((3, 4),)
    turned = argument().permuted((2, 0, 1))
    assert turned.canonical_par_indices == ()
    assert turned.canonical_free_indices == ((10, 4), (40, 6), (1, 10))
