"""Every `.mlir` test file, so that one command runs all tests; `lit` runs them too."""

from pathlib import Path

import pytest
from run_lines import ROOT, Verdict, available_features, run_test

FILES = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "test").rglob("*.mlir")
    if "Inputs" not in path.parts
)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_mlir_file(path: Path) -> None:
    scratch = ROOT / "build" / "pytest" / path
    outcome = run_test(ROOT / path, scratch, available_features())
    # A file's own REQUIRES (mlir-opt, say) or XFAIL line; `outcome.output` quotes it.
    if outcome.verdict is Verdict.UNSUPPORTED:
        pytest.skip(f"{path}: {outcome.output}")
    if outcome.verdict is Verdict.XFAIL:
        pytest.xfail(f"{path}: by its XFAIL line")
    assert outcome.verdict is Verdict.PASS, outcome.output
