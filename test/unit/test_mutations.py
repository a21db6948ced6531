"""Damaged IR gives an output or a diagnostic, never a traceback."""

import random
from pathlib import Path

import pytest
from mutate import cases, failures, mutant
from run_lines import ROOT

BATCHES = 20
MUTANTS_PER_BATCH = 100


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_files(batch: int, tmp_path: Path) -> None:
    indices = range(batch * MUTANTS_PER_BATCH, (batch + 1) * MUTANTS_PER_BATCH)
    found = failures(cases(ROOT / "test"), 0, indices, str(tmp_path))
    assert [(f.index, str(f.case.path), f.reason) for f in found] == []


def test_a_mutant_depends_only_on_its_seed() -> None:
    text = "func.func @f() {\n  func.return\n}\n"
    mutants = [mutant(text, random.Random(f"0 {i}")) for i in range(50)]
    assert mutants == [mutant(text, random.Random(f"0 {i}")) for i in range(50)]
    assert len(set(mutants) - {text.encode()}) > 25
