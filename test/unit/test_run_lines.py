"""The runner of RUN lines: what it runs where, and that it fails when it should."""

import subprocess
import sys
from pathlib import Path

import pytest
from run_lines import ROOT, Outcome, Verdict, call, run_test


def run(folder: Path, text: str, *features: str) -> Outcome:
    test = folder / "case.mlir"
    test.write_text(text)
    return run_test(test, folder / "scratch" / "case.mlir", frozenset(features))


MODULE = "func.func @f() {\n  func.return\n}\n"


@pytest.mark.parametrize(
    "line",
    [
        "neuron-opt %s",
        "neuron-opt %s | neuron-opt | filecheck %s",
        "neuron-opt < %s > %t && filecheck %s < %t",
        "neuron-opt %s -o %t && filecheck %s --input-file %t",
        "not neuron-opt no-such-file",
        "not neuron-opt no-such-file 2>&1 | filecheck %s --check-prefix MISSING",
        "not neuron-opt no-such-file 2> %t && filecheck %s --check-prefix MISSING < %t",
        "neuron-opt %s > %t && neuron-opt %s >> %t && grep -c func.return %t | grep 2",
        "neuron-opt '%S/case.mlir' -p \"dce,cse\" | \\\n// RUN:   filecheck %s",
        "cat %s | neuron-opt - | filecheck %s",
        "not not neuron-opt %s",
        "%python -c 'print(7)' | grep 7",
        "X=1; neuron-opt %s | filecheck %s",
        "not neuron-opt no-such-file; not false",
    ],
)
def test_passes(line: str, tmp_path: Path) -> None:
    checks = "// CHECK: func.return\n// MISSING: cannot read 'no-such-file'\n"
    outcome = run(tmp_path, f"// RUN: {line}\n{checks}{MODULE}")
    assert outcome.verdict is Verdict.PASS, outcome.output


@pytest.mark.parametrize(
    "line",
    [
        "not neuron-opt %s",
        "neuron-opt %s | filecheck %s --check-prefix ABSENT",
        "neuron-opt no-such-file | cat",
        "neuron-opt %s && neuron-opt no-such-file",
        "neuron-opt no-such-file && neuron-opt %s",
        "neuron-opt %s\n// RUN: neuron-opt no-such-file",
        "neuron-opt --no-such-option",
        "X=1; neuron-opt no-such-file | cat",
    ],
)
def test_fails(line: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, f"// RUN: {line}\n// ABSENT: func.call\n{MODULE}")
    assert outcome.verdict is Verdict.FAIL


def test_features(tmp_path: Path) -> None:
    text = "// REQUIRES: mlir-opt, moon\n// RUN: not neuron-opt %s\n" + MODULE
    outcome = run(tmp_path, text, "mlir-opt")
    assert outcome == Outcome(Verdict.UNSUPPORTED, "requires moon")
    assert run(tmp_path, text, "mlir-opt", "moon").verdict is Verdict.FAIL
    text = text.replace("REQUIRES: mlir-opt, moon", "UNSUPPORTED: moon")
    assert run(tmp_path, text, "moon").verdict is Verdict.UNSUPPORTED
    text = text.replace("UNSUPPORTED: moon", "XFAIL: *")
    assert run(tmp_path, text).verdict is Verdict.XFAIL
    assert run(tmp_path, text.replace("not ", "")).verdict is Verdict.XPASS


def test_a_file_without_run_lines_is_not_passed_over(tmp_path: Path) -> None:
    assert run(tmp_path, MODULE).verdict is Verdict.UNRESOLVED


def test_call_restores_the_streams() -> None:
    before = sys.stdin, sys.stdout, sys.stderr
    result = call(lambda argv: sys.exit("stop"), [])
    assert (result.code, result.out, result.err) == (1, b"", b"stop\n")
    with pytest.raises(ZeroDivisionError):
        call(lambda argv: 1 // 0, [])
    assert (sys.stdin, sys.stdout, sys.stderr) == before


def test_lit_runs_the_same_files() -> None:
    lit = "import sys, lit.main; sys.argv[0] = 'lit'; lit.main.main()"
    command = [sys.executable, "-c", lit, "-v", "test/tools"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout
    assert "PASS: xdsl-neuron :: test/tools/print.mlir" in process.stdout
