"""Constants, the identity at the kernel's front, and what each method builds."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.arch import TRN2
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron.constant import Blob, Identity, Splat
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import LoopKind, QosClass, Space
from xdsl_neuron.machine import prepare
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.reference.methods import METHODS, built_by, called_by, lowered
from xdsl_neuron.testing import assert_levels_agree, printed
from xdsl_neuron.tracer.codegen import NeuronCodegen
from xdsl_neuron.tracer.context import tracing
from xdsl_neuron.tracer.dma import validate_dma_qos
from xdsl_neuron.tracer.errors import NKIError
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.views import View

fl: Any = functional_language

INSTRUCTIONS = {
    "load": ["sb_atom_load"],
    "store": ["sb_atom_store"],
    "dma_copy": ["dma_copy"],
    "dma_transpose": [
        "dma_indirect_transpose",
        "dma_transpose_copy",
        "dma_transpose_load",
    ],
    "indirect_load": ["neuron_indirect_load"],
    "indirect_save": ["neuron_indirect_rmw", "neuron_indirect_save"],
    "local_gather": ["indirect_copy"],
    "gather_flattened": ["pool_gather"],
    "load_tensor_to_register": ["load_tensor_to_register"],
    "broadcast_partition": ["dma_copy", "tensor_copy"],
    "stream_shuffle": ["stream_shuffle"],
    "shared_constant": ["constant"],
    "shared_identity_matrix": ["constant"],
    "get_identity_tensor": ["sb_atom_load", "tensor_copy"],
    "create_tensor": ["alloc"],
    "memset": ["memset"],
}
"""penguin.md 1.1."""


def names(trace: NeuronCodegen) -> list[str]:
    """The operations of the function's own block, without the dialect's name."""
    return [op.name.removeprefix("penguin.") for op in trace.function.body.block.ops]


def test_each_method_builds_its_instructions() -> None:
    found = {
        name: sorted(kind.name.removeprefix("penguin.") for kind in built_by(name))
        for name in METHODS
    }
    assert found == INSTRUCTIONS


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_lowered_and_reached_from_a_language(name: str) -> None:
    assert all(lowered(kind) for kind in built_by(name))
    assert called_by(name) or name == "get_identity_tensor"


def test_the_identity_is_loaded_once_at_the_front() -> None:
    trace = NeuronCodegen("k", [], TRN2, True, View)
    tile = trace.memset((128, 128), 1.0, DType.FLOAT32)
    with trace.scope(LoopKind.SEQUENTIAL, range(2)):
        with trace.scope(LoopKind.SEQUENTIAL, range(3)):
            eye = trace.get_identity_tensor(DType.BFLOAT16)
            again = trace.get_identity_tensor(DType.BFLOAT16)
            trace.tensor_copy(eye, dtype=DType.FLOAT32)
    assert again.base is eye.base
    other = trace.get_identity_tensor(DType.FLOAT32)
    trace.tensor_copy(other, tile)
    assert trace.get_identity_tensor().element_type is DType.INT8
    trace.finish([])
    assert names(trace) == [
        "constant",
        "alloc",
        "sb_atom_load",
        "alloc",
        "tensor_copy",
        "alloc",
        "tensor_copy",
        "alloc",
        "memset",
        "for",
        "tensor_copy",
        "return",
    ]
    trace.module.verify()


def test_the_identity_of_an_empty_kernel() -> None:
    trace = NeuronCodegen("k", [], TRN2, True, View)
    trace.get_identity_tensor(DType.BFLOAT16)
    assert names(trace) == ["constant", "alloc", "sb_atom_load", "alloc", "tensor_copy"]


TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)


def folded(x: Any) -> Any:
    out = fl.ndarray((3, 4), fl.float32, buffer=fl.shared_hbm)
    one = fl.load(fl.shared_constant(TABLE)) + fl.load(fl.shared_constant(TABLE))
    two = fl.load(fl.shared_constant(np.full((3, 4), 2.5, np.float32)))
    eye = fl.load(fl.shared_constant(np.eye(3, dtype=np.float32)))
    fl.store(out, one + two + eye[:, 0:1] + fl.load(x))
    return out


def test_both_sinks_of_constants() -> None:
    def contents(**options: Any) -> list[object]:
        module = functional.trace(folded, **options)(tensor_spec("f32", (3, 4)))
        found = [op for op in module.walk() if isinstance(op, penguin.ConstantOp)]
        return [op.contents.data for op in found]

    plain = contents()
    assert plain.count(Identity()) == 1
    assert plain.count(Splat("2.5")) == 1
    assert plain.count(Blob(TABLE.tobytes())) == 1
    assert len(plain) == 3
    left = contents(enable_const_rewrite=True)
    assert len(left) == 4
    assert all(isinstance(each, Blob) for each in left)


@pytest.mark.parametrize("rewrite", [False, True])
def test_both_sinks_give_the_same(rewrite: bool) -> None:
    x = np.ones((3, 4), np.float32)
    module = functional.trace(folded, enable_const_rewrite=rewrite)(x)
    found = assert_levels_agree(module, [x])
    assert found["bir"].count(" Const ") == 2
    assert "value = 2.5" in found["bir"]
    expected = TABLE * 2 + 2.5 + np.eye(3, dtype=np.float32)[:, :1] + x
    np.testing.assert_array_equal(functional.simulate(folded)(x), expected)


def test_an_array_of_an_unknown_type_is_refused() -> None:
    trace = NeuronCodegen("k", [], TRN2, True, View)
    with pytest.raises(NKIError, match="shared_constant: "):
        trace.shared_constant(np.array(["a"]))
    with pytest.raises(NKIError, match="shared_constant of an array without elements"):
        trace.shared_constant(np.zeros((0, 2), np.float32))


def test_constants_of_narrow_types() -> None:
    trace = NeuronCodegen("k", [], TRN2, True, View)
    values = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    assert trace.shared_constant(values).element_type is DType.BFLOAT16
    cast = trace.shared_constant(values, DType.FLOAT16)
    assert cast.element_type is DType.FLOAT16


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, QosClass.UNASSIGNED),
        ("default", QosClass.DEFAULT),
        ("P0", QosClass.P0),
        ("p3", QosClass.P3),
        (QosClass.P2, QosClass.P2),
    ],
)
def test_quality_of_service_requests(given: object, expected: QosClass) -> None:
    assert validate_dma_qos(given).data is expected


@pytest.mark.parametrize("given", ["P4", "none of these", 2, 2.5])
def test_other_quality_of_service_requests_are_refused(given: object) -> None:
    with pytest.raises(NKIError, match="expected none, Default, P0, P1, P2 or P3"):
        validate_dma_qos(given)


def tiled(x: Any) -> Any:
    out = fl.ndarray((3, 32, 40), fl.float32, buffer=fl.shared_hbm)
    for i in fl.affine_range(3):
        for j in fl.sequential_range(2):
            part = slice(j * 20, j * 20 + 20)
            tile = fl.load(x[i, :, part], mask=fl.arange(32)[:, None] < 30 - i - j)
            fl.store(out[i, :, part], tile * 2.0 + tile)
    return out


def test_a_tile_in_a_loop_is_expanded_and_gives_the_same() -> None:
    x = np.arange(3 * 32 * 40, dtype=np.float32).reshape(3, 32, 40)
    plain = functional.trace(tiled)(x)
    module = functional.trace(tiled, enable_scalar_expansion=True)(x)
    text = printed(module)
    assert text.count("penguin.alloc expand") == printed(plain).count("sbuf>") == 3
    found = assert_levels_agree(module, [x])
    assert found["bir"].count("<32x3x2x20xf32, sbuf>") == 3
    assert "expand" not in found["bir"]
    kept = np.ones((3, 32, 40), bool)
    for i, j in np.ndindex(3, 2):
        kept[i, 30 - i - j :, j * 20 : j * 20 + 20] = False
    np.testing.assert_array_equal(
        functional.simulate(tiled, enable_scalar_expansion=True)(x)[kept], (x * 3)[kept]
    )


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["bytes", "splat", "identity"])
def test_a_weight_is_split(axis: int, kind: str) -> None:
    n = 200 if axis == 0 else 120
    weight = {
        "bytes": np.arange(n * n, dtype=np.float32).reshape(n, n),
        "splat": np.full((n, n), -1.5, np.float32),
        "identity": np.eye(n, dtype=np.float32),
    }[kind]
    trace = NeuronCodegen("k", [], TRN2, True, View)
    with tracing(trace):
        source = trace.shared_constant(weight, DType.BFLOAT16)
        parts = trace.split_weight_tensor(source, axis, (72, 80))
        outputs: list[tuple[str, Buffer]] = []
        for number, part in enumerate(parts):
            out = trace.create_tensor(part.shape, DType.BFLOAT16, Space.HBM)
            trace.store(View.of(out), trace.load(part))
            outputs.append((f"out_{number}", out))
        module = trace.finish(outputs)
    assert_levels_agree(module, [])
    expected = np.split(weight.astype(ml_dtypes.bfloat16), (72, 80), axis)
    for found, part in zip(prepare(module).run([]), expected, strict=True):
        np.testing.assert_array_equal(found, part)


def test_what_cannot_be_split() -> None:
    trace = NeuronCodegen("k", [], TRN2, True, View)
    cube = trace.shared_constant(np.zeros((2, 3, 4), np.float32))
    with pytest.raises(
        NKIError, match="A splittable NeuronWeightTensor should be of rank 2, got"
    ):
        trace.split_weight_tensor(cube, 0, (1,))
    matrix = trace.shared_constant(np.zeros((4, 6), np.float32))
    with pytest.raises(NKIError, match="split_axis must be 0 or 1, got 2"):
        trace.split_weight_tensor(matrix, 2, (1,))
    for wrong in ((0,), (4,), (2, 2), (3, 1)):
        with pytest.raises(NKIError, match="split_indices must rise from above 0"):
            trace.split_weight_tensor(matrix, 0, wrong)
    with pytest.raises(NKIError, match="only a whole constant can be split"):
        trace.split_weight_tensor(matrix.reshaped((6, 4)), 0, (1,))
    assert len(trace.split_weight_tensor(matrix, 1, ())) == 1
