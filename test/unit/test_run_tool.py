"""`neuron-run`: what its options apply to, kernels of files, BIR JSON."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from xdsl_neuron.tools.opt import main as opt
from xdsl_neuron.tools.run import main
from xdsl_neuron.tools.trace import main as trace

KERNEL = """
import random
import sys
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scale(x, factor, *, rows=4):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:rows])
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=out[:rows], src=tile)
    return out
"""
CALL = "print(scale(np.ones((4, 4), np.float32), 2.0, rows=3))\n"
LEVELS = ("penguin", "bir", "dma")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "script.py").write_text(KERNEL + CALL)
    return tmp_path / "kernel.py"


def run(
    capsys: pytest.CaptureFixture[str], *command: str, code: int = 0
) -> tuple[str, str]:
    """What a command prints on stdout and stderr."""
    try:
        found = main(command)
    except SystemExit as stop:
        found = stop.code
    caught = capsys.readouterr()
    assert found == code, caught.err
    return caught.out, caught.err


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("script.py --inputs a.npz", "--inputs does not apply to a script"),
        ("--outputs a.npz script.py", "--outputs does not apply to a script"),
        ("script.py --entry f", "--entry does not apply to a script"),
        ("script.py --arg x=f32[2,2]", "--arg does not apply to a script"),
        ("script.py -f bir-json", "--frontend does not apply to a script"),
        ("script.py --no-such-thing", "what follows '--' is the script's"),
        ("script.py --level silicon", "invalid choice: 'silicon'"),
        ("kernel.py:scale --entry f", "--entry does not apply to a kernel"),
        ("kernel.py:scale -- a", "an argument does not apply to a kernel"),
        ("a.mlir b", "an argument does not apply to a module"),
        ("a.mlir --arg x=1", "--arg does not apply to a module, only to a kernel"),
        ("a.mlir --grid 2", "--grid does not apply to a module"),
        ("a.mlir -f xml", "invalid choice: 'xml'"),
        ("a.mlir --seed -1", "expected an integer from 0 on, got '-1'"),
        ("", "required: FILE\n"),
    ],
)
def test_wrong_usage(
    command: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = run(capsys, *command.split(), code=2)
    assert message in err
    assert not out


@pytest.mark.usefixtures("file")
def test_options_of_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    """Each applies, on either side of the file."""
    for level in LEVELS:
        for memory, held in (("poison", "nan nan nan nan"), ("zero", "0. 0. 0. 0.")):
            options = [f"--level={level}", "--uninitialized-memory", memory]
            for command in (["script.py", *options], [*options, "script.py"]):
                out, err = run(capsys, *command)
                assert f" [{held}]]" in out
                assert f"\nlevel  {level}\n" in out
                assert err.startswith(
                    "script.py:12:11: warning: output 'out' is written in part: 4 of "
                    f"16 elements hold {'NaN' if memory == 'poison' else 0}, the first"
                )
    _, err = run(capsys, "script.py", "--max-tensor-bytes", "10", code=1)
    assert "exceeds the machine's limit of 10 (max_tensor_bytes)" in err


def test_seed_of_a_script(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(KERNEL + "print(random.random(), np.random.rand())\n")
    first, second = (run(capsys, "kernel.py", "--seed", "5")[0] for _ in range(2))
    assert first == second
    assert run(capsys, "kernel.py", "--seed", "6")[0] != first


@pytest.mark.usefixtures("file")
def test_a_file_that_calls_no_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "kernel.py")
    assert not out
    shape = "f32[128,512]"
    command = f"neuron-run kernel.py:scale --arg x={shape} --arg factor={shape}"
    assert "'kernel.py' defines 'scale' and calls no kernel" in err
    assert f"\n  {command} --seed 0\n" in err
    # What it says to do is what there is to do.
    given = command.replace(f"factor={shape}", "factor=2.0").split()[1:]
    assert run(capsys, *given, "--seed", "0")[0].startswith("out: float32[128, 512] ")
    Path("plain.py").write_text("print('nothing')")
    assert run(capsys, "plain.py") == ("nothing\n", "")
    traced = "nki.trace(scale)(np.ones((4, 4), np.float32), 2.0)\n"
    Path("traced.py").write_text(KERNEL + traced)
    assert run(capsys, "traced.py") == ("", "")


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("level", LEVELS)
def test_kernel_of_a_file(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.savez("in.npz", x=x)
    command = ["kernel.py:scale", "--arg", "factor=3.0", "--level", level]
    out, err = run(capsys, *command, "--inputs", "in.npz", "--outputs", "out.npz")
    assert out == "out: float32[4, 4] min 0, max 45, mean 22.5\n"
    assert not err
    with np.load("out.npz") as found:
        assert np.array_equal(found["out"], 3 * x)
    np.savez("in.npz", x)
    asked = ["--inputs", "in.npz", "--arg", "rows=2", "--summary", "--target", "trn2"]
    out, err = run(capsys, *command, *asked)
    assert "function" in out
    assert "kernel.py:12:11: warning: output 'out' is written in part" in err
    tensors = ["--arg", "x=bf16[4,4]", "--seed", "1"]
    run(capsys, *command, *tensors, "--outputs", "in.npz")
    np.savez("y.npz", x=np.zeros((4, 4), ml_dtypes.bfloat16).view(np.uint16))
    assert run(capsys, *command, *tensors[:2], "--inputs", "y.npz")[0].endswith(
        "min 0, max 0, mean 0\n"
    )


@pytest.mark.usefixtures("file")
def test_kernel_of_a_file_refused(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("in.npz", x=np.zeros((4, 4), np.float64))
    for command, message in (
        ("--seed 1", "needs a value for 'x': give a tensor's element type and shape"),
        ("--arg x=f32[4,4] --seed 1", "needs a value for 'factor'"),
        ("--arg x=f32[4,4] --arg factor=2.0", "give them with --inputs, or let --seed"),
        ("--arg x=f32[4,4] --arg factor=2.0 --inputs in.npz --grid 1", "note: "),
        ("--inputs in.npz --arg factor=2.0", "array 'x' of 'in.npz': "),
    ):
        code = 0 if message == "note: " else 1
        assert message in run(capsys, "kernel.py:scale", *command.split(), code=code)[1]
    _, err = run(capsys, "kernel.py:other", "--seed", "1", code=1)
    assert "'kernel.py' has no kernel 'other', only scale" in err


@pytest.mark.usefixtures("file")
def test_bir_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--arg", "x=f32[4,4]", "--arg", "factor=2.0"]
    assert trace(["kernel.py:scale", *arguments, "-o", "k.mlir"]) == 0
    lower = ["-p", "penguin-to-bir", "k.mlir"]
    assert opt([*lower, "-t", "bir-json", "-o", "k.json"]) == 0
    expected = run(capsys, "k.mlir", "--seed", "3")
    assert run(capsys, "k.json", "--seed", "3") == expected
    Path("k.json").rename("k.txt")
    for option in (["-f", "bir-json"], ["--frontend=bir-json"]):
        assert (
            run(capsys, "k.txt", *option, "--seed", "3", "--level", "dma") == expected
        )
    assert run(capsys, "k.txt", "--seed", "3", code=1)[1].startswith("k.txt:1:1: error")
    Path("bad.json").write_text("[1,")
    assert run(capsys, "bad.json", "--seed", "3", code=1)[1].startswith("bad.json:1:")


@pytest.mark.parametrize("dtype", ["float64", "complex128", "U1"])
def test_an_array_no_kernel_takes_has_no_place(
    file: Path, capsys: pytest.CaptureFixture[str], dtype: str
) -> None:
    """What has called the tool is not a kernel's line."""
    np.savez(file.with_name("a.npz"), x=np.zeros((4, 4), dtype))
    command = ["kernel.py:scale", "--arg", "factor=2.0", "--inputs", "a.npz"]
    _, err = run(capsys, *command, code=1)
    assert err.startswith("error: array 'x' of 'a.npz': Unsupported dtype '")
    assert err.count("\n") == 1
    _, err = run(capsys, *command[:3], "--arg", "x=f32[0,4]", code=1)
    assert err.startswith("error: argument 'x': tensor has shape (0, 4)")
