"""Kernels of the functional generation that the gates of DMA methods refuse."""

from typing import Any

from kernel_gates.case import fisa, fl, functional_case


def product_from(x: Any, column: int) -> None:
    """A product of 512 columns in PSUM, from a column on."""
    wide = fl.zeros((64, 512), fl.float32, buffer=fl.sbuf)
    banks = fl.zeros((64, 1024), fl.float32, buffer=fl.psum)
    i_p, i_f = fl.arange(64)[:, None], fl.arange(512)[None, :]
    banks[i_p, column + i_f] += fisa.nc_matmul(fl.load(x[0:64]), wide)


CASES = [
    functional_case(
        "MatmulBase.one_bank",
        "access to 'dst' crosses a PSUM bank: bytes 1024 to 3071 of a partition, banks "
        "hold 2048",
        lambda x, i, b: product_from(x, 256),
        lambda x, i, b: product_from(x, 512),
    ),
    functional_case(
        "",
        "dma_qos is 'P4', expected none, Default, P0, P1, P2 or P3",
        lambda x, i, b: fl.load(x[0:64, :], dma_qos="P4"),
        lambda x, i, b: fl.load(x[0:64, :], dma_qos="P3"),
    ),
    functional_case(
        "",
        "Multiple indirect dim access is not supported!",
        lambda x, i, b: fl.load(x[fl.load(i), fl.load(i)]),
        lambda x, i, b: fl.load(x[fl.load(i), fl.arange(64)[None, :]]),
    ),
    functional_case(
        "",
        "Indirect indexing on free dimension not supported, must be partition "
        "dimension or block dimension.",
        lambda x, i, b: fl.load(x[fl.arange(64)[:, None], fl.load(i)]),
        lambda x, i, b: fl.load(x[fl.load(i), 0:64]),
    ),
    functional_case(
        "OpenCopy.one_indirect_side",
        "``src`` and ``dst`` operands cannot both be indirect memory accesses",
        lambda x, i, b: fisa.dma_copy(dst=x[fl.load(i), 0:64], src=x[fl.load(i), 0:64]),
    ),
    functional_case(
        "",
        "cannot use indirect indexing access with the current NKI API for 'x'",
        lambda x, i, b: fl.add(x[fl.load(i), 0:64], 1.0),
    ),
    functional_case(
        "",
        "load_transpose2d reads a two-dimensional tile in hbm",
        lambda x, i, b: fl.load_transpose2d(fl.load(x[0:64])),
        lambda x, i, b: fl.load_transpose2d(x[0:64]),
    ),
]
