"""Names, keywords and objects of generations 0.2 to 0.7, and Python in kernels."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.arch import TRN2
from xdsl_neuron.nki import install, isa, language
from xdsl_neuron.nki.objects import NKIObject
from xdsl_neuron.testing import assert_kernel_ok, texts
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa
A = np.random.default_rng(0).standard_normal((33, 17)).astype(np.float32)


def tile(shape: Any = (33, 17), dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype, buffer=nl.sbuf)


def stored(value: Any) -> Any:
    out = nl.ndarray(value.shape, value.dtype, buffer=nl.shared_hbm)
    nl.store(out, value)
    return out


# -- names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        ("nki.language", "arange", "is of generation 0.1; use slices"),
        ("nki.language", "mgrid", "is of generation 0.1"),
        ("nki.language", "loop_reduce", "is of generation 0.1"),
        ("nki.language", "atomic_rmw", "use nisa.dma_compute"),
        ("nki.language", "nc", r"launch kernel\[2\]"),
        ("nki.language", "static_cast", r"use nl.copy\(x, dtype\)"),
        ("nki.isa", "tensor_copy_dynamic_src", "removed in 0.4; use nisa.tensor_copy"),
    ],
)
def test_names_of_other_generations(module: str, name: str, instead: str) -> None:
    found: Any = {"nki.language": language, "nki.isa": isa}[module]
    with pytest.raises(AttributeError, match=instead):
        getattr(found, name)
    assert not hasattr(found, name)

    def kernel(a: Any) -> None:
        getattr(found, name)

    with pytest.raises(NKIError, match=f"{module}.{name} ") as raised:
        nki.trace(kernel)(A)
    assert raised.value.location is not None
    assert raised.value.location.file == __file__


def test_a_name_of_no_generation() -> None:
    for module in (language, isa, nki):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            module.nonsense  # type: ignore[attr-defined]


def test_the_modules_kernels_import() -> None:
    install()
    namespace: dict[str, Any] = {}
    exec(
        "import nki.collectives as ncc, nki.compiler, nki.typing\n"
        "from nki.isa import constants, NkiValidationError, VirtualRegister\n"
        "from nki.isa.constants import dge_mode, oob_mode, dma_engine\n"
        "from nki.language import NKIObject, NkiTensor, MemoryRegion, DType\n"
        "from nki.collectives import ReplicaGroup\n",
        namespace,
    )
    assert namespace["dge_mode"] is isa.dge_mode
    assert namespace["constants"].oob_mode is isa.oob_mode


REFUSALS: list[tuple[Callable[[Any], object], str]] = [
    (lambda t: nl.add(t, t, mask=3), "'mask': it is of generation 0.1"),
    (lambda t: nl.sum(t, 1, mask=3), "'mask': it is of generation 0.1"),
    (lambda t: nl.add(t, t, out=t), "argument 'out'; it accepts x, y, dtype=None"),
    (lambda t: nl.exp(t, t, t), "nl.exp takes 1 operands, got 3; it accepts x, dt"),
    (lambda t: nl.exp(t, x=t), "got a second keyword argument 'x'"),
    (lambda t: nl.softmax(t, mode=1), "'mode'; it accepts x, axis=-1, dtype=None"),
    (lambda t: nisa.memset(t, 1.0, kind=1), "it accepts dst, value, engine="),
    (lambda t: nl.device_print(3, t), "must be a constant string, got int"),
    (lambda t: nisa.memset(t, 1).depends_on(3), "takes what instructions return"),
    (lambda t: late(nisa.memset(t, 1)), "is in the body of a loop around which th"),
    (lambda t: itself(nisa.memset(t, 1)), "'I1' cannot wait for itself"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSALS)
def test_refusals(wrong: Callable[[Any], object], message: str) -> None:
    def kernel(a: Any) -> None:
        wrong(tile())

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(A)
    assert raised.value.location is not None
    assert raised.value.location.file == __file__


def late(first: Any) -> None:
    inside: list[Any] = []

    def body(i: Any) -> None:
        inside.append(nisa.memset(tile(), 2.0))

    nl.fori_loop(0, 3, body)
    first.depends_on(inside[0])


def itself(first: Any) -> None:
    first.depends_on(first)


def test_an_instruction_waits_for_others() -> None:
    def kernel(a: Any) -> Any:
        first, second = nisa.memset(tile(), 1.0), nisa.memset(tile(), 2.0)
        third = nl.load(a)
        last = nisa.tensor_scalar(third, third, nl.add, 1.0)
        assert last.depends_on(first, second).depends_on(first) is last
        return stored(third)

    assert_kernel_ok(kernel, A, expected=A + 1)
    for text in texts(nki.trace(kernel)(A)).values():
        assert "I1" in text.split("tensor_scalar_ptr @I4")[1].splitlines()[0]


def test_the_engine_of_a_copy_is_kept() -> None:
    def kernel(a: Any) -> Any:
        t = tile()
        hwdge = nisa.dge_mode.hwdge
        nisa.dma_copy(t, a, engine=nisa.engine.scalar, dge_mode=hwdge, priority=2)
        return stored(t)

    assert_kernel_ok(kernel, A, expected=A)
    found = texts(nki.trace(kernel)(A))
    assert "engine = Activation, dge = hwdge" in found["penguin"]
    for level in ("bir", "dma"):
        lines = [line for line in found[level].splitlines() if "@I1" in line]
        assert "engine = Activation" in lines[-1], lines


@pytest.mark.parametrize("third", [nl.add, 1])
def test_the_third_argument_of_dma_copy(third: Any) -> None:
    def kernel(a: Any) -> Any:
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, a)
        nisa.dma_copy(out, a, third)
        return out

    assert_kernel_ok(kernel, A, expected=A + A if third is nl.add else A)


# -- functions ---------------------------------------------------------------------


FUNCTIONS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda t: nl.floor(t), np.floor),
    (lambda t: nl.ceil(t), np.ceil),
    (lambda t: nl.trunc(t), np.trunc),
    (lambda t: nl.tan(t), np.tan),
    (lambda t: nl.exp(t, nl.float32), np.exp),
    (lambda t: nl.add(x=t, y=t), lambda a: a + a),
    (lambda t: nl.multiply(t, 3.0, nl.float32), lambda a: a * 3),
    (lambda t: nl.sum(t, 1, nl.float32, True), lambda a: a.sum(1, keepdims=True)),
    (lambda t: nl.mean(t, 1, nl.float32, True), lambda a: a.mean(1, keepdims=True)),
    (lambda t: nl.zeros_like(x=t), np.zeros_like),
    (lambda t: nl.load(stored(t), nl.float32), lambda a: a),
]


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
def test_functions(function: Callable[[Any], Any], expected: Any) -> None:
    def kernel(a: Any) -> Any:
        return stored(function(nl.load(a)))

    assert_kernel_ok(kernel, A * 3, expected=expected(A * 3), rtol=1e-4, atol=1e-5)


def test_an_identity_is_a_tile() -> None:
    def kernel(a: Any) -> Any:
        one = nl.shared_identity_matrix(33, nl.float32)
        assert one.buffer is nl.sbuf
        assert nl.shared_identity_matrix(33, nl.float32).base is one.base
        other = tile((33, 33), nl.bfloat16)
        assert nl.shared_identity_matrix(33, nl.bfloat16, other) is other
        for _ in nl.dynamic_range(2):
            nl.shared_identity_matrix(17, nl.float32)
        last = nl.shared_identity_matrix(17, nl.float32)
        return stored(one), stored(other), stored(last)

    expected = (np.eye(33), np.eye(33), np.eye(17))
    assert_kernel_ok(kernel, A, expected=expected)
    text = str(nki.trace(kernel)(A))
    assert text.count("sb_atom_load") == 3


def test_a_constant_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, A)

    def kernel(a: Any, path: Any) -> Any:
        return stored(nl.load(nl.shared_constant(path)))

    for where in (path, str(path)):
        np.testing.assert_array_equal(nki.simulate(kernel)(A, where), A)
    with pytest.raises(NKIError, match=r"shared_constant: cannot read .*b.npy"):
        nki.trace(kernel)(A, str(tmp_path / "b.npy"))


@pytest.mark.parametrize("function", ["floor", "ceil", "trunc"])
def test_rounding_at_the_edges(function: str) -> None:
    values = [
        0.0,
        -0.5,
        0.5,
        -1.0,
        2.0,
        1e-30,
        -1e-30,
        8388609.0,
        -3e9,
        1.5,
        -2.5,
        7.999,
    ]
    edges = np.array([values], np.float32)

    def kernel(a: Any) -> Any:
        return stored(getattr(nl, function)(nl.load(a)))

    assert_kernel_ok(kernel, edges, expected=getattr(np, function)(edges))


def test_sizes_of_the_hardware() -> None:
    def kernel(a: Any) -> None:
        sizes = nl.tile_size
        assert (sizes.pmax, sizes.psum_bank_fmax, sizes.psum_num_banks) == (128, 512, 8)
        assert sizes.psum_bank_fmax_bytes == 2048
        assert sizes.sbuf_fmax_bytes == TRN2.sbuf_usable_bytes_per_partition
        assert sizes.sbuf_fmax == sizes.sbuf_fmax_bytes // 4
        assert sizes.sbuf_size_bytes == 128 * TRN2.sbuf_bytes_per_partition
        assert nisa.get_nc_sub_version() == 0

    nki.jit(kernel, platform_target="trn2").trace(A)


def test_a_print_from_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    def kernel(a: Any) -> Any:
        nl.device_print("tile: ", nl.load(a)[0:1, 0:2])
        return stored(nl.load(a))

    nki.simulate(kernel)(A)
    assert capsys.readouterr().out == f"tile: {A[0:1, 0:2]}\n"


@pytest.mark.parametrize("offset", [0, 3, 4, 1000, -1])
def test_a_copy_that_leaves_its_tensor_is_skipped(offset: int) -> None:
    def kernel(a: Any, where: Any) -> Any:
        out = nl.ndarray((4, 17), a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, nl.zeros((4, 17), nl.float32, buffer=nl.sbuf))
        nisa.dma_copy(
            out.ap([[17, 1], [1, 17]], scalar_offset=nl.load(where)),
            a[0:1],
            oob_mode=nisa.oob_mode.skip,
        )
        return out

    expected = np.zeros((4, 17), np.float32)
    if 0 <= offset < 4:
        expected[offset] = A[0]
    assert_kernel_ok(kernel, A, np.array([[offset]], np.int32), expected=expected)


@pytest.mark.parametrize(("partitions", "rows"), [(32, 1), (20, 1), (50, 40), (64, 3)])
def test_a_shuffle_of_less_than_a_block(partitions: int, rows: int) -> None:
    mask = [0, 255, *[0] * 30] if rows < 32 else [2, 7, *[0] * 30]
    if partitions > 32 > rows:
        return  # the second block would have no source; `test_refusals` of gates

    def kernel(a: Any) -> Any:
        source = nl.load(a[0:rows])
        target = nl.zeros((partitions, 17), nl.float32, buffer=nl.sbuf)
        nisa.nc_stream_shuffle(target, source, mask)
        nisa.nc_stream_shuffle(target[0:32], target[0:1], [0] * 32) if (
            partitions >= 32
        ) else None
        return stored(target)

    a = np.resize(A, (64, 17)).astype(np.float32)
    expected = np.zeros((partitions, 17), np.float32)
    for p in range(partitions):
        if mask[p % 32] != 255:
            expected[p] = a[p - p % 32 + mask[p % 32]]
    if partitions >= 32:
        expected[0:32] = expected[0]
    assert_kernel_ok(kernel, a, expected=expected)


def test_scales_of_two_operands_in_one_tile() -> None:
    """Rows of scales lie in the first partitions of a quadrant; others fit behind."""
    x4 = nl.float8_e4m3fn_x4

    def quantised(source: Any, scale: Any) -> Any:
        wide = nl.load(source)
        packed = nl.ndarray((128, wide.shape[1] // 4), x4, buffer=nl.sbuf)
        nisa.quantize_mx(packed, wide, scale)
        return packed

    def kernel(a: Any, b: Any, together: Any) -> Any:
        scales = [nl.zeros((128, 64), nl.uint8, buffer=nl.sbuf) for _ in range(2)]
        views = [scales[0][:, 0:32], scales[1][:, 0:64]]
        if together:
            views = [scales[0][0:, 0:32], scales[0][4:, 0:64]]
        left, right = quantised(a, views[0]), quantised(b, views[1])
        result = nl.ndarray((32, 64), nl.float32, buffer=nl.psum)
        nisa.nc_matmul_mx(result, left, right, *views)
        return stored(nl.copy(result))

    import ml_dtypes

    random = np.random.default_rng(3)
    a = random.standard_normal((128, 128)).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((128, 256)).astype(ml_dtypes.bfloat16)
    apart = nki.simulate(kernel)(a, b, False)
    assert_kernel_ok(kernel, a, b, True, expected=apart)


# -- Python around a kernel --------------------------------------------------------


class Mode(enum.Enum):
    PLAIN = 0
    TWICE = 1


@dataclass
class Config(NKIObject):
    """Annotated fields are the dataclass's, the other one is a field too."""

    mode: Mode = Mode.PLAIN
    factor: float = 1.0
    bias: Any = None
    extra: ClassVar[Any] = None


class Plain(NKIObject):
    size = 4


class Pair(NamedTuple):
    left: Any
    right: Any


@nki.jit
def configured(config: Config, pair: Pair, options: Any) -> Any:
    total = nl.zeros(pair.left.shape, nl.float32, buffer=nl.sbuf)
    pieces: list[Any] = []

    def loaded(source: Any) -> Any:
        pieces.append(nl.load(source))
        return pieces[-1]

    for factor, source in zip(options["factors"], pair, strict=True):
        assert source.shape == total.shape, f"{source.shape} is not {total.shape}"
        nisa.scalar_tensor_tensor(
            total, loaded(source), nl.multiply, factor, nl.add, total
        )
    if config.bias is not None:
        nisa.tensor_tensor(total, total, nl.load(config.bias), nl.add)
    for _ in range(2 if config.mode is Mode.TWICE else 1):
        nisa.tensor_scalar(total, total, nl.multiply, config.factor * config.extra)
    assert len(pieces) == 2
    return stored(total)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("bias", [None, A * 5])
def test_objects_with_tensors(mode: Mode, bias: Any) -> None:
    config = Config(mode, 1.5, bias=bias, extra=2.0)
    other = A[::-1].copy()
    expected = A * np.float32(2) + other * np.float32(3)
    if bias is not None:
        expected = expected + bias
    for _ in range(2 if mode is Mode.TWICE else 1):
        expected = expected * np.float32(3)
    found = configured(config, Pair(A, other), {"factors": (2.0, 3.0)})
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert config.bias is bias


def test_configuration_objects() -> None:
    assert (Plain().size, Plain(size=7, other=1).size) == (4, 7)
    assert (Config(extra=3).extra, Config(factor=2.0).factor) == (3, 2.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        Config(nonsense=1)  # type: ignore[call-arg]


def test_the_simulator_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_SIMULATOR", "1")

    @nki.jit
    def kernel(a: Any) -> Any:
        wide = nisa.get_nc_version() >= nisa.nc_version.gen4
        return stored(nl.multiply(nl.load(a), 4.0 if wide else 2.0))

    np.testing.assert_array_equal(kernel(A), A * 4)
    for target, factor in (("trn1", 2), ("gen3", 2), ("trn2", 2), ("gen4", 4)):
        monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
        np.testing.assert_array_equal(kernel(A), A * np.float32(factor))
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn9")
    with pytest.raises(NKIError, match="trn9"):
        kernel(A)
