"""Every name of NKI on odd shapes, through views, under masks and in loops."""

import pytest
from kernels.names.driver import check
from kernels.names.elementwise import ROWS as ELEMENTWISE
from kernels.names.folds import ROWS as FOLDS
from kernels.names.rows import Row
from kernels.names.searches import ROWS as SEARCHES

from xdsl_neuron.nki.roster import isa_names, language_names

ROWS = (*ELEMENTWISE, *FOLDS, *SEARCHES)
DOCUMENTED = {
    *((f"nisa.{name}", generation) for name, generation in isa_names()),
    *((f"nl.{name}", generation) for name, generation in language_names()),
}
GENERATIONS = {"functional": ("0.1",), "destination": ("0.2", "0.6")}
CASES = [
    (row, generation)
    for row in ROWS
    for generation, releases in GENERATIONS.items()
    if any((row.name, release) in DOCUMENTED for release in releases)
]


@pytest.mark.parametrize(
    ("row", "generation"), CASES, ids=[f"{r.id}-{g}" for r, g in CASES]
)
def test_name(row: Row, generation: str) -> None:
    wrong = check(row, generation)
    assert not wrong, "\n".join(wrong)
