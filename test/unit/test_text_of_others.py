"""Files as other editors write them: a byte order mark, letters of several bytes."""

import codecs
from pathlib import Path

import pytest

from xdsl_neuron.tools import opt, run, trace

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

@nki.jit
def kernel(a):
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    größe = "äöü"; nisa.dma_copy(dst=out, src=a)
    return out
"""
CALL = "kernel(np.ones((2, 2), np.float32))\n"


@pytest.fixture(params=[b"", codecs.BOM_UTF8], ids=["plain", "marked"])
def mark(request: pytest.FixtureRequest) -> bytes:
    mark: bytes = request.param
    return mark


def test_kernels(
    mark: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kernel.py"
    file.write_bytes(mark + (KERNEL + CALL).encode())
    assert trace.main([f"{file}:kernel", "--arg", "a=f32[2,2]"]) == 0
    assert capsys.readouterr().out.startswith("builtin.module")
    assert run.main([str(file)]) == 0
    assert capsys.readouterr().err == ""


def test_modules(
    mark: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "module.mlir"
    file.write_bytes(mark + "bir.nothing // ä\n".encode())
    for tool in (opt.main, run.main):
        assert tool([str(file)]) == 1
        assert capsys.readouterr().err.startswith(f"{file}:1:1: error: operation 'bir.")


@pytest.mark.parametrize("first", ["", "üü = 1; "])
def test_the_caret_counts_characters(
    mark: bytes, first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An instruction, a script's own failure and one while the file is executed."""
    file = tmp_path / "kernel.py"
    wrong = KERNEL.replace("dma_copy(dst", "dma_copy(dts")
    line = '    größe = "äöü"; nisa.dma_copy(dts=out, src=a)'
    file.write_bytes(mark + (wrong + CALL).encode())
    for tool, given in (
        (trace.main, [f"{file}:kernel", "--arg", "a=f32[2,2]"]),
        (run.main, [str(file)]),
    ):
        assert tool(given) == 1
        place, shown, caret, *_ = capsys.readouterr().err.splitlines()
        assert place.startswith(f"{file}:9:20: error: ")
        assert (shown, caret.index("^")) == (line, line.index("nisa."))
    file.write_bytes(mark + f"{first}x = None + 1\n".encode())
    for tool in (trace.main, run.main):
        assert tool([str(file)]) == 1
        place, shown, caret, *_ = capsys.readouterr().err.splitlines()
        assert place.startswith(f"{file}:1:{len(first) + 5}: error: TypeError: ")
        assert (shown, caret.index("^")) == (f"{first}x = None + 1", len(first) + 4)
