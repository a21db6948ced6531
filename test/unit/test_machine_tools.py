"""`neuron-run`, the target, the summary and the interpreter functions."""

from io import StringIO
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from machines import Array, compute, context, parsed, random
from xdsl.dialects import arith, func, scf
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions

from xdsl_neuron.machine.interpreter import NeuronFunctions
from xdsl_neuron.machine.summary import summarize
from xdsl_neuron.machine.target import NeuronRunTarget
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.tools.run import main
from xdsl_neuron.universe import UNIVERSE

BF16 = ml_dtypes.bfloat16

SCALE = """
penguin.func @scale(x = %x: !neuron.tensor<128x16xbf16, hbm>,
                    s = %s: !neuron.tensor<128x1xf32, hbm>,
                    inout y = %y: !neuron.tensor<128x16xf32, hbm>) {
  %o = penguin.alloc : <128x16xbf16, hbm>
  %t = penguin.alloc : <128x16xbf16, sbuf>
  %c = penguin.alloc : <128x1xf32, sbuf>
  penguin.sb_atom_load %t <- %x
  penguin.sb_atom_load %c <- %s
  penguin.for sequential %i = 0 to 2 {
    %u = penguin.alloc : <128x16xf32, sbuf>
    penguin.tensor_scalar_ptr mult %u <- %t, scalar0 = %c
    penguin.sb_atom_store %y <- %u
    penguin.sb_atom_store %o <- %u where 63 - l0 + %i * 64 >= 0
  }
  penguin.return o = %o
}
"""


@pytest.fixture
def module_file(tmp_path: Path) -> str:
    path = tmp_path / "scale.mlir"
    path.write_text(SCALE)
    return str(path)


def inputs() -> tuple[Array, Array, Array]:
    return (
        random((128, 16)).astype(BF16),
        random((128, 1), 1),
        np.zeros((128, 16), np.float32),
    )


@pytest.mark.parametrize("level", ["penguin", "bir", "dma"])
def test_run_by_names(module_file: str, tmp_path: Path, level: str) -> None:
    x, s, y = inputs()
    given, result = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(given, x=x.view(np.uint16), s=s, y=y)
    command = [module_file, "--inputs", str(given), "--outputs", str(result)]
    code = main([*command, "--level", level])
    assert code == 0
    with np.load(result, allow_pickle=False) as found:
        assert sorted(found.files) == ["__dtypes__", "o", "y"]
        assert str(found["__dtypes__"]) == '{"o": "bfloat16"}'
        expected = x.astype(np.float32) * s
        assert np.array_equal(found["y"], expected)
        assert found["o"].dtype == np.uint16
        assert found["o"].tobytes() == expected.astype(BF16).tobytes()


def test_run_by_position_void_and_casts(
    module_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, s, y = inputs()
    given, result = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(given, x, s.astype(np.float64), y, extra=y)
    assert main([module_file, "--inputs", str(given), "--outputs", str(result)]) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "note: input 's' is cast from float64 to float32",
        f"note: '{given}' has arrays that are no inputs: extra",
    ]
    assert captured.out.splitlines()[0].startswith("o: bfloat16[128, 16] min -")
    with np.load(result) as found:
        assert np.array_equal(found["y"], x.astype(np.float32) * s)
    np.savez(given, x=x.astype(np.float32), s=s, y=y)
    assert main([module_file, "--inputs", str(given)]) == 0
    assert "input 'x' is cast from float32 to bfloat16" in capsys.readouterr().err


def test_run_refuses_bad_inputs(
    module_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, s, y = inputs()
    given, result = tmp_path / "in.npz", tmp_path / "out.npz"
    objects = np.empty(1, object)
    cases: list[tuple[list[Array], str]] = [
        ([x, s], "has no array 'y' for input y: float32[128, 16], only "),
        ([x, s, y.T], "takes y: float32[128, 16], got shape [16, 128]"),
        ([x, s, y.astype(int)], "as an array of float32, got int64"),
        ([objects, s, y], "allow_pickle=False"),
    ]
    for arrays, message in cases:
        np.savez(given, *arrays)
        command = [module_file, "--inputs", str(given), "--outputs", str(result)]
        assert main(command) == 1
        assert message in capsys.readouterr().err
        assert not result.exists()
    given.write_bytes(b"PK\x03\x04 no archive")
    for path in (str(given), str(tmp_path / "none.npz"), str(tmp_path), module_file):
        assert main([module_file, "--inputs", path]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"error: cannot read '{path}': ")
        assert "Traceback" not in error
    assert main([str(tmp_path / "none.mlir")]) == 1
    assert "cannot read" in capsys.readouterr().err
    assert main([module_file]) == 1
    assert "give them with --inputs" in capsys.readouterr().err
    assert main([module_file, "--seed", "1", "--outputs", str(tmp_path)]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_run_levels_do_not_rise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(str(parsed(SCALE, "penguin-to-bir")))
    assert main([str(path), "--seed", "3", "--level", "penguin"]) == 1
    assert "at level bir, it cannot be raised to penguin" in capsys.readouterr().err
    assert main([str(path), "--seed", "3", "--level", "dma", "--summary"]) == 0
    assert "descriptors" in capsys.readouterr().out


def test_run_wrong_command_line() -> None:
    for command in ([], ["f.mlir", "--level", "silicon"], ["f.mlir", "--seed", "x"]):
        with pytest.raises(SystemExit) as caught:
            main(command)
        assert caught.value.code == 2


SCRIPT = """
import sys
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out


x = np.ones((128, 8), np.float32)
print("sum", double(x).sum(), sys.argv[1:])
double(x)
LAST
"""


@pytest.mark.parametrize("level", ["penguin", "bir", "dma"])
def test_run_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(SCRIPT.replace("LAST", "sys.exit(0)"))
    theirs = ["b", "--seed", "a", "--", "-x"]
    for command in (
        ["--level", level, str(path), "--", *theirs],
        [str(path), "--level", level, "--", *theirs],
        [str(path), "b", f"--level={level}", "--", *theirs[1:]],
    ):
        assert main(command) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"sum 2048.0 {theirs}"
        assert lines[2].split() == ["function", "double"]
        assert lines[-2].split() == ["level", level]
        assert lines[-1].split() == ["runs", "2"]
    assert ["bytes", "hbm->sbuf", "4,096"] in [line.split() for line in lines]


def test_run_script_that_raises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.py"
    for last, message in (
        ("assert x.sum() == 0, 'not zero'", ":22:8: error: AssertionError: not zero"),
        ("double(np.ones((200, 8), np.float32))", ":12:12: error: "),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("if:", ":22:3: error: SyntaxError: invalid syntax"),
    ):
        path.write_text(SCRIPT.replace("LAST", last))
        assert main([str(path)]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"{path}:")
        assert message in error
        assert "Traceback" not in error
    path.write_text("import sys; sys.exit(7)")
    assert main([str(path)]) == 7
    assert main([str(tmp_path / "none.py")]) == 1


def test_target() -> None:
    stream = StringIO()
    assert UNIVERSE.all_targets["neuron-run"]() is NeuronRunTarget
    NeuronRunTarget(seed=1).emit(context(), parsed(SCALE), stream)
    assert stream.getvalue().startswith("o: bfloat16[128, 16] min -")
    stream = StringIO()
    text = compute("penguin.memset %t[0, 0][1 x 2, 1 x 1] {value = 3.0}", out="2x2xf32")
    NeuronRunTarget().emit(context(), parsed(text), stream)
    assert stream.getvalue() == "o: float32[2, 2] min 3, max 3, mean 3, 2 NaN\n"


def test_summary() -> None:
    found = summarize(parsed(SCALE))
    assert found.engines == {"DMA": 6, "DVE": 2}
    assert found.traffic == {
        "hbm->sbuf": 128 * 16 * 2 + 128 * 4,
        "sbuf->hbm": 2 * 128 * 16 * 4 + (64 + 128) * 16 * 2,
    }
    assert found.descriptors is None
    assert found.peak_bytes == {"sbuf": 16 * 2 + 4 + 16 * 4}
    lowered = summarize(parsed(SCALE, "neuron"))
    assert lowered.traffic == found.traffic
    assert lowered.descriptors is not None
    assert found.render().splitlines() == [
        "function                       scale",
        "instructions on DMA                6",
        "instructions on DVE                2",
        "bytes hbm->sbuf                4,608",
        "bytes sbuf->hbm               22,528",
        "peak bytes/partition in sbuf     100",
    ]


EMBEDDED = """
func.func @outer(%x: !neuron.tensor<8x6xf32, hbm>) -> !neuron.tensor<8x6xf32, hbm> {
  %o = penguin.alloc init 0.0 : <8x6xf32, hbm>
  %t = penguin.alloc : <8x6xf32, sbuf>
  %p = penguin.alloc : <6x6xf32, psum>
  penguin.sb_atom_load %t <- %x
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %two step %one {
    penguin.tensor_scalar_ptr mult %t[0, %i * 3][1 x 8, 1 x 3]
      <- %t[0, %i * 3][1 x 8, 1 x 3] {imm0 = 2.0}
    penguin.matmul %p <- %t, %t
  }
  penguin.for sequential %j = 1 to 2 {
    penguin.sb_atom_store %o[%j * 6][6 x 6, 1 x 6] <- %t[0, 0][1 x 6, 1 x 6]
  }
  %s = penguin.alloc : <6x6xf32, sbuf>
  penguin.tensor_copy %s <- %p
  penguin.sb_atom_store %o[0][6 x 1, 1 x 6] <- %s[0, 0][1 x 1, 1 x 6]
  func.return %o : !neuron.tensor<8x6xf32, hbm>
}
"""


def interpreter(text: str) -> Interpreter:
    ctx = context()
    for dialect in (func.Func, scf.Scf, arith.Arith):
        ctx.load_dialect(dialect)
    found = Interpreter(parse_module(ctx, text, "test.mlir"))
    for functions in (FuncFunctions(), ScfFunctions(), ArithFunctions()):
        found.register_implementations(functions)
    found.register_implementations(NeuronFunctions())
    return found


def test_interpreter_runs_functions_as_programs() -> None:
    x, s, y = inputs()
    for text in (SCALE, str(parsed(SCALE, "neuron"))):
        (result,) = interpreter(text).call_op("scale", (x, s, y))
        expected = x.astype(np.float32) * s
        assert result.tobytes() == expected.astype(BF16).tobytes()
        assert np.array_equal(y, expected)


def test_interpreter_runs_instructions_inside_other_dialects() -> None:
    x = random((8, 6))
    (result,) = interpreter(EMBEDDED).call_op("outer", (x,))
    half = x.copy()
    half[:, :3] *= 2
    whole = x * 2
    product = np.matmul(half.T, half.copy()) + np.matmul(whole.T, whole.copy())
    assert np.array_equal(result[1:7], whole[:6])
    assert np.array_equal(result[0], product[0])
    assert not result[7].any()
