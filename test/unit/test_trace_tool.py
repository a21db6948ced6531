"""`neuron-trace`: the printed module, and every way to be refused."""

from pathlib import Path

import pytest

from xdsl_neuron.testing import printed, reread
from xdsl_neuron.tools.trace import main, parse_argument, split_kernel

EXAMPLES = Path(__file__).parents[2] / "examples"
MATMUL = ["--arg", "lhsT=bf16[256,128]", "--arg", "rhs=bf16[256,512]"]

KERNELS = """\
import nki
import nki.isa as nisa
import nki.language as nl
import neuronxcc.nki.language as nl1
from neuronxcc import nki as nki1


@nki.jit
def copy(x, n=1, flag=False):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for _ in range(n):
        nisa.dma_copy(out, x)
    if flag:
        raise ValueError("flagged")
    return out


@nki1.jit
def gridded(x):
    out = nl1.ndarray(x.shape, x.dtype, buffer=nl1.shared_hbm)
    rows = nl1.ds(nl1.program_id(0) * 4, 4)
    nl1.store(out[rows], nl1.load(x[rows]))
    return out


def wide(x):
    nl1.load(x)


not_a_kernel = 3
"""


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return str(path)


def test_prints_the_verified_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"{EXAMPLES / 'matmul.py'}:matmul", *MATMUL]) == 0
    text = capsys.readouterr().out
    assert "penguin.func @matmul(lhsT = %lhsT: !neuron.tensor<256x128xbf16" in text
    assert text.count("penguin.matmul") == 2
    assert "loc(" not in text
    assert printed(reread(text)) + "\n" == text


def test_the_only_kernel_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLES / "matmul.py"), *MATMUL, "--target", "trn2"]) == 0
    assert "#neuron.target<trn2>" in capsys.readouterr().out


def test_forms_and_output_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kernels: str
) -> None:
    target = tmp_path / "out.mlir"
    arguments = [f"{kernels}:copy", "--arg", "x=f32[8,4]", "-o", str(target)]
    assert main([*arguments, "--print-debuginfo"]) == 0
    assert f'loc("{kernels}":12:9)' in target.read_text()
    assert main([*arguments, "--print-op-generic"]) == 0
    assert '"penguin.dma_copy"(' in target.read_text()
    assert capsys.readouterr().out == ""


def test_grids_and_literals(capsys: pytest.CaptureFixture[str], kernels: str) -> None:
    assert main([f"{kernels}:gridded", "--arg", "x=i8[8,4]", "--grid", "2,1"]) == 0
    assert "penguin.for spmd %g0 = 0 to 2" in capsys.readouterr().out
    assert main([f"{kernels}:copy", "--arg", "x=f32[8,4]", "--arg", "n=3"]) == 0
    assert capsys.readouterr().out.count("penguin.dma_copy") == 3


@pytest.mark.parametrize(
    ("kernel", "arguments", "message"),
    [
        (":copy", ["x=f37[8,4]"], "error: argument 'x': Unsupported dtype 'f37', exp"),
        (":copy", ["x=f32[8,4"], "argument 'x': 'f32[8,4' is neither dtype[shape], s"),
        (":copy", ["x"], "error: argument 'x': expected name=dtype[shape] or name=li"),
        (":copy", [], "missing a required argument: 'x'"),
        (":copy", ["x=f32[8,4]", "y=1"], "got an unexpected keyword argument 'y'"),
        (":copy", ["x=3"], ":10:22: error: AttributeError: 'int' object has no attri"),
        (":copy", ["x=f32[8,4]", "flag=True"], ":14:9: error: ValueError: flagged\n"),
        (":wide", ["x=f32[200,4]"], ":27:5: error: number of partitions 200 exceed"),
        (":nothing", [], "has no kernel 'nothing', only copy, gridded"),
        (":not_a_kernel", [], "has no kernel 'not_a_kernel', only copy, gridded"),
        ("", [], "has not exactly one kernel (copy, gridded): use FILE:KERNEL"),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str],
    kernels: str,
    kernel: str,
    arguments: list[str],
    message: str,
) -> None:
    given = [part for argument in arguments for part in ("--arg", argument)]
    assert main([kernels + kernel, *given]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_refusal_shows_the_line(
    capsys: pytest.CaptureFixture[str], kernels: str
) -> None:
    assert main([f"{kernels}:wide", "--arg", "x=f32[200,4]"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == ["    nl1.load(x)", "    ^"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", ":1:7: error: SyntaxError: invalid syntax"),
        ("x = 1\nraise KeyError(3)\n", ":2:1: error: KeyError: 3"),
        ("import nothing_here\n", ":1:1: error: ModuleNotFoundError: No module named"),
        ("import sys\nsys.exit(7)\n", ":2:1: error: SystemExit: 7"),
    ],
)
def test_a_file_that_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    assert main([f"{path}:f"]) == 1
    assert f"{path}{message}" in capsys.readouterr().err


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere.py:f"]) == 1
    assert "error: cannot read 'nowhere.py'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["a.py", "--grid", "x"], ["a", "--foo"], ["a", "--target", "trn9"]],
)
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert "usage: neuron-trace" in capsys.readouterr().err


def test_parts_of_the_command_line() -> None:
    assert split_kernel("a/b.py:k") == ("a/b.py", "k")
    assert split_kernel("C:/b.py") == ("C:/b.py", None)
    assert parse_argument("flag=True") == ("flag", True)
    assert parse_argument("t=(1, 'a')") == ("t", (1, "a"))
    name, spec = parse_argument("x = f32[]".replace(" ", ""))
    assert (name, spec.shape) == ("x", ())


def test_a_trace_that_grows_is_refused(
    capsys: pytest.CaptureFixture[str], kernels: str
) -> None:
    given = [f"{kernels}:copy", "--arg", "x=f32[8,8]", "--arg", "n=9"]
    assert main([*given, "--max-instructions", "9"]) == 0
    capsys.readouterr()
    assert main([*given, "--max-instructions", "8"]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert f"{kernels}:12:9: error: the trace has more than 8 instructions" in err
