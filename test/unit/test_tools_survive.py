"""Full disks, broken packages and scripts that print do not upset a tool."""

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from run_lines import TOOLS, call

from xdsl_neuron.tools.console import CrashReport
from xdsl_neuron.tools.installed import GROUP, gathered

MODULE = "builtin.module {\n}\n"
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

print("printed by the script")


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(KERNEL)
    return "k.py:double"


def test_what_a_script_prints_is_not_in_the_module(kernel: str) -> None:
    found = call(TOOLS["neuron-trace"], [kernel, "--arg", "x=f32[4,4]"])
    assert found.code == 0
    assert found.out.startswith(b"builtin.module")
    assert b"printed by the script" in found.err


@pytest.mark.parametrize(
    ("tool", "options", "code", "message"),
    [
        ("neuron-trace", ["--arg", "x=f32[0,4]"], 1, "shape (0, 4)"),
        ("neuron-run", ["--arg", "x=f32[0,4]"], 1, "shape (0, 4)"),
        ("neuron-trace", ["--arg", "x=f32[4,4]", "--grid", "0"], 1, "positive extents"),
        ("neuron-run", ["--arg", "x=f32[4,4]", "--seed", "-1"], 2, "from 0 on"),
    ],
)
def test_numbers_that_mean_nothing(
    kernel: str, tool: str, options: list[str], code: int, message: str
) -> None:
    found = call(TOOLS[tool], [kernel, *options], join_stderr=True)
    assert found.code == code
    assert message in found.out.decode()


FULL = Path("/dev/full")
full_disk = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


@full_disk
def test_a_full_disk_behind_an_output_file(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(MODULE)
    found = call(TOOLS["neuron-opt"], [str(tmp_path / "m.mlir"), "-o", str(FULL)])
    assert (found.code, found.out) == (1, b"")
    assert b"cannot write '/dev/full': No space left on device" in found.err


@full_disk
def test_a_full_disk_behind_stdout(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "m.mlir").write_text(MODULE)
    command = [sys.executable, "-m", "xdsl_neuron.tools.opt", str(tmp_path / "m.mlir")]
    with FULL.open("w") as full:
        found = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert found.returncode == 1
    assert found.stderr.decode() == (
        "error: cannot write to standard output: No space left on device\n"
    )


def test_a_reproducer_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with CrashReport("neuron-opt", MODULE, os.fspath(tmp_path / "file" / "folder")):
        raise KeyError("key")
    assert "note: no reproducer could be written: Not a directory" in (
        capsys.readouterr().err
    )


def test_packages_that_are_broken_are_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken_package.py").write_text("raise ImportError('no such library')")
    (tmp_path / "clashing_package.py").write_text(
        "from xdsl.universe import Universe\n"
        "UNIVERSE = Universe(all_dialects={'bir': lambda: None})\n"
        "FINE = Universe(all_dialects={'fine': lambda: None})\n"
        "OTHER = 3\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = gathered(
        [
            EntryPoint("broken", "broken_package:UNIVERSE", GROUP),
            EntryPoint("clash", "clashing_package:UNIVERSE", GROUP),
            EntryPoint("fine", "clashing_package:FINE", GROUP),
            EntryPoint("other", "clashing_package:OTHER", GROUP),
            EntryPoint("ours", "xdsl_neuron.universe:UNIVERSE", GROUP),
        ]
    )
    assert "fine" in found.all_dialects
    assert found.all_dialects["bir"]().name == "bir"
    assert capsys.readouterr().err.splitlines() == [
        "warning: entry point 'broken' in 'xdsl.universe' is left out: ImportError: "
        "no such library",
        "warning: entry point 'clash' in 'xdsl.universe' is left out: 'bir' is defined "
        "by another package, too",
        "warning: entry point 'other' in 'xdsl.universe' is left out: it is no "
        "xdsl.universe.Universe",
    ]
