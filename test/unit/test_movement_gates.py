"""Gates of memory and DMA methods from a kernel: its line, the literal, a near miss."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.tracer.errors import NKIError

# Kernels are written without types: every name of the language is `Any` to them.
nl: Any = destination_language
nisa: Any = destination_isa
fl: Any = functional_language
fisa: Any = functional_isa
Kernel = Callable[[Any, Any, Any], Any]

LANES = list(range(32))
SPECS = (
    tensor_spec("f32", (300, 64)),
    tensor_spec("i32", (64, 1)),
    tensor_spec("bf16", (300, 64)),
)


def tile(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def filled(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf) -> Any:
    return nl.zeros(shape, dtype=dtype, buffer=buffer)


def loaded(x: Any) -> Any:
    found = tile(*x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=found, src=x)
    return found


def rows(x: Any, index: Any, count: int = 64) -> Any:
    pattern = [[64, count], [1, 64]]
    return x.ap(pattern, vector_offset=index, indirect_dim=0)


def case(literal: str, wrong: Kernel, right: Kernel | None = None) -> tuple[Any, ...]:
    """A literal, a kernel that meets it, and one that just does not."""
    return literal, wrong, right


def skip(x: Any, index: Any) -> None:
    nisa.dma_copy(
        dst=tile(64, 64), src=rows(x, loaded(index)), oob_mode=nisa.oob_mode.skip
    )


def scatter_add(x: Any, index: Any, mode: Any, op: Any = nl.add) -> None:
    target = rows(x, loaded(index))
    nisa.dma_copy(dst=target, src=loaded(x[0:64, :]), dst_rmw_op=op, oob_mode=mode)


def both(x: Any, index: Any) -> None:
    held = loaded(index)
    nisa.dma_copy(dst=rows(x, held), src=rows(x, held))


def one_after_the_other(x: Any, index: Any) -> None:
    held, through = loaded(index), tile(64, 64)
    nisa.dma_copy(dst=through, src=rows(x, held))
    nisa.dma_copy(dst=rows(x, held), src=through)


def turn(x: Any, axes: Any, *shape: int) -> None:
    nisa.dma_transpose(dst=tile(*shape, dtype=x.dtype), src=x, axes=axes)


def gather_turn(b: Any, index: Any, pattern: Any, *shape: int) -> None:
    words = tile(64, 1, dtype=nl.uint32)
    nisa.tensor_copy(words, loaded(index))
    nisa.dma_transpose(
        dst=tile(*shape, dtype=b.dtype), src=b.ap(pattern, vector_offset=words)
    )


def shuffle(
    rows: int, lanes: Any, dtype: Any = nl.float32, sources: int = 0, wide: int = 8
) -> None:
    source = filled(sources or rows, wide)
    nisa.nc_stream_shuffle(tile(rows, 8, dtype=dtype), source, lanes)


def local(run: int, valid: Any, rows: int = 64, wide: int = 2, count: int = 32) -> None:
    index = filled(rows, wide, dtype=nl.uint16)
    nisa.local_gather(tile(64, count), filled(64, 64), index, run, valid)


def flattened(dtype: Any, *shape: int) -> None:
    data = filled(*shape)
    nisa.nc_n_gather(tile(64, 8), data, filled(64, 8, dtype=dtype))


def shifted(step: int) -> None:
    x = filled(64, 64)
    nisa.tensor_copy(x[:, step : step + 32], x[:, 0:32])


def moved(step: int) -> None:
    x = filled(64, 64)
    nisa.dma_copy(dst=x[:, step : step + 32], src=x[:, 0:32])


def dims(x: Any, inner: int) -> None:
    pattern = [[900, 2], [200, 2], [50, 2], [20, 2], [inner, 2], [3, 2]]
    nisa.dma_copy(dst=tile(2, 32), src=x.ap(pattern))


def indexed_by(x: Any, index: Any) -> None:
    nisa.dma_copy(dst=tile(64, 64), src=rows(x, index))


DESTINATION = [
    case(
        "``src`` and ``dst`` operands cannot both be indirect memory accesses",
        lambda x, i, b: both(x, i),
        lambda x, i, b: one_after_the_other(x, i),
    ),
    case(
        "``dst_rmw_op`` is not supported indirect memory access on source (``src``) "
        "operand",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=rows(x, loaded(i)), dst_rmw_op=nl.add
        ),
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=rows(x, loaded(i))),
    ),
    case(
        "oob_mode.skip is not supported for direct memory access. Only "
        "oob_mode.error is allowed (got oob_mode.skip)",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=x[0:64, :], oob_mode=nisa.oob_mode.skip
        ),
        lambda x, i, b: skip(x, i),
    ),
    case(
        "scatter op can only support bypass or add for now",
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.error, nl.maximum),
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.error, nl.bypass),
    ),
    case(
        "scatter add cannot have other modes except for error",
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.skip),
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.error),
    ),
    case(
        "(0, 1) provided for 2D transpose, only (1, 0) supported.",
        lambda x, i, b: turn(x[0:64, :], (0, 1), 64, 64),
        lambda x, i, b: turn(x[0:64, :], (1, 0), 64, 64),
    ),
    case(
        "(0, 2, 1) provided for 3D transpose, only (2, 1, 0) supported.",
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 64), (0, 2, 1), 8, 64, 8),
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 64), None, 64, 8, 8),
    ),
    case(
        "(0, 1, 2, 3) provided for 4D transpose, only (3, 1, 2, 0) supported.",
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 8, 8), (0, 1, 2, 3), 8, 8, 8, 8),
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 8, 8), None, 8, 8, 8, 8),
    ),
    case(
        "unsupported tile.ndim 5; a DMA transposes rank 2, 3 or 4",
        lambda x, i, b: turn(x[0:64].reshape(8, 2, 4, 8, 8), None, 8, 8, 4, 2, 8),
    ),
    case(
        "provided for gather transpose, only 3D supported.",
        lambda x, i, b: gather_turn(b, i, [[64, 64], [1, 64]], 64, 64),
        lambda x, i, b: gather_turn(b, i, [[64, 64], [64, 1], [1, 64]], 64, 1, 64),
    ),
    case(
        "StreamShuffle does not support cast, got float32 to bfloat16",
        lambda x, i, b: shuffle(64, LANES, nl.bfloat16),
        lambda x, i, b: shuffle(64, LANES),
    ),
    case(
        "StreamShuffle Mask must have 32 elements, got 31",
        lambda x, i, b: shuffle(64, LANES[:31]),
        lambda x, i, b: shuffle(64, [255, *LANES[:31]]),
    ),
    case(
        "StreamShuffle takes partition 32 of 'dst' from ",
        lambda x, i, b: shuffle(33, LANES[::-1]),
        lambda x, i, b: shuffle(32, LANES),
    ),
    case(
        "StreamShuffle takes partition 33 of 'dst' from 33 of 'src', which has 33",
        lambda x, i, b: shuffle(64, [0, 1] * 16, sources=33),
        lambda x, i, b: shuffle(64, [0, 1] * 16, sources=34),
    ),
    case(
        "tile shape mismatch, expected '[32, 8]' of 'dst', got [32, 9] for 'src'",
        lambda x, i, b: shuffle(32, LANES, wide=9),
        lambda x, i, b: shuffle(32, LANES),
    ),
    case(
        "num_elem_per_idx must be one of [1, 2, 4, 8, 16, 32], got 3",
        lambda x, i, b: local(3, None, count=96),
        lambda x, i, b: local(2, None, count=64),
    ),
    case(
        "num_valid_indices cannot exceed total indices per core, got 33 of 32",
        lambda x, i, b: local(1, 33, count=33),
        lambda x, i, b: local(1, 31, count=31),
    ),
    case(
        "number of indices per core must be <= 4096, got 4112",
        lambda x, i, b: local(1, 16, wide=257, count=16),
        lambda x, i, b: local(1, 16, wide=256, count=16),
    ),
    case(
        "src_buffer and index must have same partition dimension size, got 64 and 32",
        lambda x, i, b: local(1, None, rows=32),
        lambda x, i, b: local(1, None),
    ),
    case(
        "Unsupported dtype 'int32' of 'index', expected one of the following dtypes: "
        "uint32",
        lambda x, i, b: flattened(nl.int32, 64, 8),
        lambda x, i, b: flattened(nl.uint32, 64, 8),
    ),
    case(
        "'src' has 5 dimensions, exceed max supported number of dimension: a gather "
        "takes 2 to 4",
        lambda x, i, b: flattened(nl.uint32, 64, 2, 2, 2, 2),
        lambda x, i, b: flattened(nl.uint32, 64, 2, 2, 2),
    ),
    case(
        "Memset engine can only be Vector or GpSIMD or Unknown.",
        lambda x, i, b: nisa.memset(tile(64, 8), 0.0, engine=nisa.engine.scalar),
        lambda x, i, b: nisa.memset(tile(64, 8), 0.0, engine=nisa.engine.gpsimd),
    ),
    case(
        "number of partitions 129 exceed architecture limitation of 128",
        lambda x, i, b: tile(129, 8),
        lambda x, i, b: tile(128, 8),
    ),
    case(
        "expected an access of 10 partitions to start at partition 0, 32, 64 or 96, "
        "got 10",
        lambda x, i, b: nisa.tensor_copy(tile(128, 8)[10:20, :], filled(10, 8)),
        lambda x, i, b: nisa.tensor_copy(tile(128, 8)[96:106, :], filled(10, 8)),
    ),
    case(
        "SB tensor overflow: a tensor of shape (128, 61439) and type float32 needs "
        "245756 bytes in a partition, trn3 has 245752; use smaller tiles",
        lambda x, i, b: tile(128, 61439),
        lambda x, i, b: tile(128, 61438),
    ),
    case(
        "PSUM tensor overflow: a tensor of shape (128, 4097) and type float32 needs "
        "16388 bytes in a partition, trn3 has 16384; use smaller tiles",
        lambda x, i, b: tile(128, 4097, buffer=nl.psum),
        lambda x, i, b: tile(128, 4096, buffer=nl.psum),
    ),
    case(
        "in-place accesses are the same pattern or disjoint; write to another tile",
        lambda x, i, b: shifted(31),
        lambda x, i, b: (shifted(32), shifted(0)),
    ),
    case(
        "source and destination overlap partly in",
        lambda x, i, b: moved(31),
        lambda x, i, b: (moved(32), moved(0)),
    ),
    case(
        "Invalid number of AccessPattern dimensions; must be in [2, 5], got 6 for "
        "'src'",
        lambda x, i, b: dims(x, 8),
        lambda x, i, b: dims(x, 6),
    ),
    case(
        "cannot use indirect indexing access with the current NKI API for 'x': "
        "'penguin.tensor_copy' has no index for 'src'",
        lambda x, i, b: nisa.tensor_copy(tile(64, 64), rows(x, loaded(i))),
    ),
    case(
        "Indirect indices tile must be on SBUF. Got",
        lambda x, i, b: indexed_by(x, i),
        lambda x, i, b: indexed_by(x, loaded(i)),
    ),
    case(
        "Unsupported dtype 'float32' of 'index', expected one of the following "
        "dtypes: uint32, int32",
        lambda x, i, b: indexed_by(x, loaded(x[0:64, 0:1])),
        lambda x, i, b: indexed_by(x, loaded(i)),
    ),
    case(
        "access pattern on 'x' has both scalar_offset and vector_offset; they are "
        "mutually exclusive",
        lambda x, i, b: x.ap([[64, 1]], scalar_offset=1, vector_offset=loaded(i)),
    ),
    case(
        "InstTensorLoad/InstTensorSave register and tensor must have the same number "
        "of bytes. Got src=float32 dst=int32",
        lambda x, i, b: nisa.register_load(nisa.register_alloc(), x[0:1, 0:1]),
        lambda x, i, b: nisa.register_load(nisa.register_alloc(), i[0:1, 0:1]),
    ),
    case(
        "a register is used before register_load or register_move",
        lambda x, i, b: x[nisa.register_alloc()],
        lambda x, i, b: x[nisa.register_alloc(3)],
    ),
    case(
        "dma_qos is 4, expected none, Default, P0, P1, P2 or P3",
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=x[0:64], priority=4),
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=x[0:64], priority=3),
    ),
]


def product_from(x: Any, column: int) -> None:
    """A product of 512 columns in PSUM, from a column on."""
    wide = fl.zeros((64, 512), fl.float32, buffer=fl.sbuf)
    banks = fl.zeros((64, 1024), fl.float32, buffer=fl.psum)
    i_p, i_f = fl.arange(64)[:, None], fl.arange(512)[None, :]
    banks[i_p, column + i_f] += fisa.nc_matmul(fl.load(x[0:64]), wide)


FUNCTIONAL = [
    case(
        "access to 'dst' crosses a PSUM bank: bytes 1024 to 3071 of a partition, banks "
        "hold 2048",
        lambda x, i, b: product_from(x, 256),
        lambda x, i, b: product_from(x, 512),
    ),
    case(
        "dma_qos is 'P4', expected none, Default, P0, P1, P2 or P3",
        lambda x, i, b: fl.load(x[0:64, :], dma_qos="P4"),
        lambda x, i, b: fl.load(x[0:64, :], dma_qos="P3"),
    ),
    case(
        "Multiple indirect dim access is not supported!",
        lambda x, i, b: fl.load(x[fl.load(i), fl.load(i)]),
        lambda x, i, b: fl.load(x[fl.load(i), fl.arange(64)[None, :]]),
    ),
    case(
        "Indirect indexing on free dimension not supported, must be partition "
        "dimension or block dimension.",
        lambda x, i, b: fl.load(x[fl.arange(64)[:, None], fl.load(i)]),
        lambda x, i, b: fl.load(x[fl.load(i), 0:64]),
    ),
    case(
        "'penguin.stream_shuffle' takes no mask",
        lambda x, i, b: fisa.nc_stream_shuffle(
            fl.load(x[0:64]),
            fl.ndarray((64, 64), fl.float32),
            LANES,
            mask=fl.arange(64)[:, None] < 5,
        ),
        lambda x, i, b: fisa.nc_stream_shuffle(
            fl.load(x[0:64]), fl.ndarray((64, 64), fl.float32), LANES
        ),
    ),
    case(
        "``src`` and ``dst`` operands cannot both be indirect memory accesses",
        lambda x, i, b: fisa.dma_copy(dst=x[fl.load(i), 0:64], src=x[fl.load(i), 0:64]),
    ),
    case(
        "cannot use indirect indexing access with the current NKI API for 'x'",
        lambda x, i, b: fl.add(x[fl.load(i), 0:64], 1.0),
    ),
    case(
        "load_transpose2d reads a two-dimensional tile in hbm",
        lambda x, i, b: fl.load_transpose2d(fl.load(x[0:64])),
        lambda x, i, b: fl.load_transpose2d(x[0:64]),
    ),
]


def check(language: Any, literal: str, wrong: Kernel, right: Kernel | None) -> None:
    def kernel(function: Kernel) -> Kernel:
        def traced(x: Any, index: Any, b: Any) -> None:
            function(x, index, b)

        return traced

    with pytest.raises(NKIError) as raised:
        language.trace(kernel(wrong))(*SPECS)
    error = raised.value
    assert literal in error.message
    assert error.location is not None
    assert Path(error.location.file) == Path(__file__)
    assert error.location.line > 1
    if right is not None:
        language.trace(kernel(right))(*SPECS)


@pytest.mark.parametrize(
    ("literal", "wrong", "right"), DESTINATION, ids=[c[0][:50] for c in DESTINATION]
)
def test_destination(literal: str, wrong: Kernel, right: Kernel | None) -> None:
    check(nki, literal, wrong, right)


@pytest.mark.parametrize(
    ("literal", "wrong", "right"), FUNCTIONAL, ids=[c[0][:50] for c in FUNCTIONAL]
)
def test_functional(literal: str, wrong: Kernel, right: Kernel | None) -> None:
    check(functional, literal, wrong, right)
