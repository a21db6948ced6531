"""What `neuron-opt` answers: exit codes, messages, files."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from run_lines import ROOT, Result, call
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.tools.console import CrashReport
from xdsl_neuron.tools.opt import NeuronOptMain, main

FUNCTION = """func.func @f(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
"""
PRINTED = """builtin.module {
  func.func @f(%x: i32) -> i32 {
    %y = arith.addi %x, %x : i32
    func.return %y : i32
  }
}
"""


def opt(text: str | bytes, *options: str) -> Result:
    """`neuron-opt` with a text on stdin."""
    data = text.encode() if isinstance(text, str) else text
    return call(main, list(options), data)


def error_of(text: str | bytes, *options: str) -> str:
    """The diagnostics for a text that must be refused with nothing on stdout."""
    result = opt(text, *options)
    assert (result.code, result.out) == (1, b"")
    return result.err.decode()


def test_prints_the_module() -> None:
    assert opt(FUNCTION) == Result(0, PRINTED.encode(), b"")


def test_parse_error_has_a_place_and_a_caret() -> None:
    assert error_of("func.func @f() {\n\tfunc.return : : i32\n}\n") == (
        "<stdin>:2:14: error: expected an operation, a block or '}'\n"
        "\tfunc.return : : i32\n\t            ^\n"
    )


def test_block_redefinition_is_explained_by_a_note() -> None:
    error = error_of('"test.op"() ({\n^a:\n  "test.termop"() : () -> ()\n^a:\n})')
    assert error == (
        "<stdin>:4:1: error: re-declaration of block 'a'\n^a:\n^\n"
        "<stdin>:2:1: note: originally declared here\n^a:\n^\n"
    )


def test_unknown_operation_names_the_dialect() -> None:
    assert error_of("%a = foo.bar\n") == (
        "<stdin>:1:6: error: operation 'foo.bar' is not registered: unknown dialect "
        "'foo'\n%a = foo.bar\n     ^\n"
    )


def test_a_verifier_inside_the_parser_has_a_place() -> None:
    error = error_of(
        '"test.op"() : () -> ()\n"test.op"() {a = array<i32: 1, 300000000000>}'
    )
    assert error.startswith("<stdin>:2:")


def test_a_value_that_is_never_defined() -> None:
    text = FUNCTION.replace("%x, %x", "%a, %b")
    assert error_of(text).splitlines()[::3] == [
        "<stdin>:2:8: error: 'arith.addi' op uses %a, not defined",
        "<stdin>:2:8: error: 'arith.addi' op uses %b, not defined",
    ]


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b"", "1:1", "expected an operation, but the input is empty\n\n^\n"),
        (b"// nothing\n", "2:1", "expected an operation, but the input is empty\n"),
        (b'"a\xff', "1:3", "invalid UTF-8: byte 0xff (invalid start byte)\n"),
        (
            b"\n\xc3\xa4\xc3",
            "2:2",
            "invalid UTF-8: byte 0xc3 (unexpected end",
        ),
        ("²".encode(), "1:1", "unexpected character '²'\n²\n^\n"),
        (b"%a:" + b"0" * 5000, "1:4", "number literal with 5000 digits, at most"),
        (
            b'"' + b"a" * 200,
            "1:1",
            "End of file reached before closing string",
        ),
        (b'"test.op"() ({' * 200, "1:1414", "nested more than 100 deep\n"),
        (b'"test.op"() {a = ' + b"[" * 5000, "1:118", "nested more than 100 deep\n"),
        (b"}", "1:1", "expected an operation\n}\n^\n"),
    ],
)
def test_damaged_text_has_a_place(data: bytes, place: str, message: str) -> None:
    assert error_of(data).startswith(f"<stdin>:{place}: error: {message}")


def test_max_nesting() -> None:
    text = '"test.op"() {a = ' + "[" * 300 + "]" * 300 + "} : () -> ()"
    assert "nested more than 100 deep" in error_of(text)
    assert opt(text, "--max-nesting", "400").code == 0


def test_missing_file_and_folder() -> None:
    for name, reason in (
        ("no.mlir", "No such file or directory"),
        (".", "Is a directory"),
    ):
        result = call(main, [name])
        assert (result.code, result.out) == (1, b"")
        assert result.err.decode() == f"error: cannot read '{name}': {reason}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-such-option"], "unrecognized arguments: --no-such-option"),
        (
            ["-p", "canonicalise"],
            "unknown pass 'canonicalise', did you mean canonicalize",
        ),
        (["-p", "xyzzy"], "unknown pass 'xyzzy', see --list-passes"),
        (["-p", "dce{"], "Expected argument name here"),
        (["-p", "dce{speed=3}"], "'dce': Provided arguments [\"speed\"] not found"),
        (["-t", "xyzzy"], "invalid choice: 'xyzzy' (choose from arm-asm, "),
        (["-t", "mlir{"], "Expected argument name here"),
        (["-t", "mlir{xyzzy=1}"], "'mlir': Provided arguments [\"xyzzy\"] not found"),
        (["--max-nesting", "0"], "must be 1 to 1000"),
    ],
)
def test_wrong_usage(options: list[str], message: str) -> None:
    result = opt(FUNCTION, *options)
    assert (result.code, result.out) == (2, b"")
    error = result.err.decode()
    assert error.startswith("usage: neuron-opt [options] [file]\nneuron-opt: error: ")
    assert message in error


def test_lists() -> None:
    assert "canonicalize" in opt("", "--list-passes").out.decode().split()
    dialects = opt("", "--list-dialects").out.decode().split()
    assert {"arith", "bir", "dma", "neuron", "penguin"} <= set(dialects)


def test_output_file_is_written_only_on_success(tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    assert opt(FUNCTION, "-o", str(output)) == Result(0, b"", b"")
    assert output.read_text() == PRINTED
    assert opt(FUNCTION.replace("return", "retrun"), "-o", str(output)).code == 1
    assert output.read_text() == PRINTED
    assert opt("func.func", "-o", str(tmp_path / "other.mlir")).code == 1
    assert list(tmp_path.iterdir()) == [output]


def test_output_file_that_cannot_be_written() -> None:
    error = error_of(FUNCTION, "-o", "no/such/folder/out.mlir")
    assert error.startswith(
        "error: cannot write 'no/such/folder/out.mlir': No such file"
    )
    assert opt(FUNCTION, "-o", "/dev/null") == Result(0, b"", b"")
    assert not Path("/dev/null").is_file()


def test_split_input_file_keeps_line_numbers() -> None:
    text = f"// first\n// -----\n{FUNCTION}// -----\n{FUNCTION}"
    both = opt(text, "--split-input-file")
    assert both == Result(0, f"{PRINTED}// -----\n{PRINTED}".encode(), b"")
    error = error_of(text + "// -----\n\nfunc.fun\n", "--split-input-file")
    assert error.startswith(
        "<stdin>:14:1: error: operation 'func.fun' is not registered"
    )


def test_locations_of_errors_name_other_files(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("import nki\nnki.add(a)\n")
    text = f'"arith.addi"() : () -> i32 loc("{kernel}":2:5)'
    assert error_of(text).splitlines()[-2:] == ["nki.add(a)", "    ^"]
    text = f'"arith.addi"() : () -> i32 loc(callsite("{kernel}":2:5 at "{kernel}":1:1))'
    assert error_of(text).splitlines()[-3:] == [
        f"{kernel}:1:1: note: called from here", "import nki", "^"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "comment",
    [
        "// expected-error {{at another line}}",
        "// expected-error @+1 {{another message}}",
        "// expected-warning @+1 {{Expected 2 operands, but got 0}}",
        "// expected-error-re @+1 {{Expected {{[3-9]}} operands}}",
        "// expected-error @+1 {{Expected 2 operands, but got 0}} and more",
    ],
)
def test_verify_diagnostics_refuses_other_expectations(comment: str) -> None:
    text = f'{comment}\n"arith.addi"() : () -> i32\n'
    error = error_of(text, "--verify-diagnostics")
    assert "<stdin>:2:1: error: unexpected error: 'arith.addi' op Expected 2" in error
    assert "was not produced" in error or "malformed expectation" in error


def test_verify_diagnostics_counts() -> None:
    expected = "// expected-error @+1 {{Expected 2 operands}}\n"
    operation = '"arith.addi"() : () -> i32\n'
    assert opt(expected + operation, "--verify-diagnostics") == Result(0, b"", b"")
    twice = error_of(f"// {expected}{expected}{operation}", "--verify-diagnostics")
    assert twice.count("error:") == 1
    assert 'expected error "Expected 2 operands" was not produced' in twice
    none = error_of(operation, "--verify-diagnostics")
    assert none.startswith("<stdin>:1:1: error: unexpected error: 'arith.addi' op")


@dataclass(frozen=True)
class FailAt(ModulePass):
    name = "fail-at"

    kind: str = "op"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        victim = next(each for each in op.walk() if each.name == "arith.addi")
        match self.kind:
            case "op":
                raise DiagnosticError(victim, "cannot be lowered")
            case "pass":
                raise PassFailedException("needs a target")
            case "invalid":
                next(each for each in op.walk() if each.name == "func.return").detach()
            case _:
                raise KeyError(self.kind)


class Main(NeuronOptMain):
    def register_all_passes(self) -> None:
        super().register_all_passes()
        self.register_pass("fail-at", lambda: FailAt)


def run_main(*options: str) -> Result:
    return call(lambda args: Main(args).execute(), list(options), FUNCTION.encode())


def test_a_failing_pass_is_shown_at_the_operation() -> None:
    result = run_main("-p", "fail-at")
    assert (result.code, result.out) == (1, b"")
    assert result.err.decode() == (
        "<stdin>:2:8: error: 'arith.addi' op cannot be lowered\n"
        "  %y = arith.addi %x, %x : i32\n       ^\nnote: in pass 'fail-at'\n"
    )
    result = run_main("-p", "fail-at{kind=pass}")
    assert result.err.startswith(b"<stdin>:1:1: error: needs a target\nfunc.func")


@pytest.mark.parametrize(
    ("option", "note"),
    [
        ("--timing", "note: after the pipeline; --verify-each names the pass\n"),
        ("--verify-each", "note: pass 'fail-at' left the module invalid\n"),
    ],
)
def test_a_pass_that_leaves_the_module_invalid(option: str, note: str) -> None:
    result = run_main("-p", "fail-at{kind=invalid}", option)
    assert (result.code, result.out) == (1, b"")
    assert "must be a terminator, as the last of its block" in result.err.decode()
    assert result.err.decode().endswith(note)


def test_a_bug_in_a_pass_of_others_is_shown_at_its_line(tmp_path: Path) -> None:
    options = ["-p", "fail-at{kind=other}", "--reproducer-dir", str(tmp_path / "new")]
    result = run_main(*options)
    assert (result.code, result.out) == (1, b"")
    lines = Path(__file__).read_text().splitlines()
    line = lines.index("                raise KeyError(self.kind)") + 1
    first, *_, last = result.err.decode().splitlines()
    raised = f"KeyError: 'other' (raised at {__file__}:{line})"
    assert first == f"<stdin>:1:1: error: {raised}"
    assert last == "note: in pass 'fail-at'"
    assert not (tmp_path / "new").exists()


def test_internal_error_leaves_a_reproducer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FailAt, "__module__", "xdsl_neuron.passes.fail_at")
    options = ["-p", "fail-at{kind=other}", "--reproducer-dir", str(tmp_path / "new")]
    result = run_main(*options)
    assert (result.code, result.out) == (1, b"")
    (reproducer,) = (tmp_path / "new").iterdir()
    assert result.err.decode() == (
        "error: internal error in neuron-opt: KeyError: 'other'\n"
        f"note: reproducer written to '{reproducer}'; "
        f"run: neuron-opt -p 'fail-at{{kind=other}}' {reproducer}\n"
    )
    text = reproducer.read_text()
    assert text.startswith(f"// configuration: -p 'fail-at{{kind=other}}'\n{FUNCTION}")
    assert "//     raise KeyError(self.kind)" in text
    assert call(main, [str(reproducer)]).out.decode() == PRINTED


def test_crash_report_lets_refusals_and_interrupts_pass() -> None:
    for error in (DiagnosticError(None, "no"), KeyboardInterrupt(), BrokenPipeError()):
        with pytest.raises(type(error)), CrashReport("neuron-opt", "", None):
            raise error


def test_timing_and_ir_after_each_pass_go_to_stderr() -> None:
    result = opt(FUNCTION, "-p", "dce,cse", "--timing", "--print-ir-after-all")
    assert (result.code, result.out.decode()) == (0, PRINTED)
    lines = result.err.decode().splitlines()
    assert lines[0] == "// -----// IR after dce //----- //"
    table = lines[lines.index("time report") + 1 :]
    rows = [line.split()[-1] for line in table]
    assert rows == ["parse", "verify", "dce", "cse", "print", "total"]


def test_numpy_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(FUNCTION)
    code = (
        "import sys; from xdsl_neuron.tools.opt import main; "
        f"code = main([{str(tmp_path / 'f.mlir')!r}]); "
        "sys.exit(code or 'numpy' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL).returncode == 0


def test_a_reader_that_leaves_early_is_no_error_message() -> None:
    command = [sys.executable, "-m", "xdsl_neuron.tools.opt"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(FUNCTION.encode())
    process.stdin.close()
    assert process.wait() == 1
    assert process.stderr.read() == b""
    process.stderr.close()
