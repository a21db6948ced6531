"""Every name of NKI on odd shapes, through views, under masks and in loops."""

import pytest
from kernels.names.driver import check
from kernels.names.elementwise import ROWS as ELEMENTWISE
from kernels.names.exempt import EXEMPT
from kernels.names.folds import ROWS as FOLDS
from kernels.names.generators import ROWS as GENERATORS
from kernels.names.grids import ROWS as GRIDS
from kernels.names.making import ROWS as MAKING
from kernels.names.movement import ROWS as MOVEMENT
from kernels.names.products import ROWS as PRODUCTS
from kernels.names.rows import Row
from kernels.names.searches import ROWS as SEARCHES

from xdsl_neuron.nki.roster import isa_names, language_names

# Forms that a release has given up are names all the same.
pytestmark = pytest.mark.filterwarnings(
    "ignore::xdsl_neuron.tracer.release_warnings.NKIReleaseWarning"
)

ROWS = (
    *ELEMENTWISE,
    *FOLDS,
    *SEARCHES,
    *MOVEMENT,
    *MAKING,
    *PRODUCTS,
    *GENERATORS,
    *GRIDS,
)
DOCUMENTED = {
    *((f"nisa.{name}", generation) for name, generation in isa_names()),
    *((f"nl.{name}", generation) for name, generation in language_names()),
}
GENERATIONS = {"functional": ("0.1",), "destination": ("0.2", "0.6", "0.7")}


def has(name: str, generation: str) -> bool:
    """Whether a generation has a name."""
    return any((name, release) in DOCUMENTED for release in GENERATIONS[generation])


CASES = [
    (row, generation)
    for row in ROWS
    for generation in GENERATIONS
    if has(row.name, generation) and getattr(row, generation) is not None
]


@pytest.mark.parametrize(
    ("row", "generation"), CASES, ids=[f"{r.id}-{g}" for r, g in CASES]
)
def test_name(row: Row, generation: str) -> None:
    wrong = check(row, generation)
    assert not wrong, "\n".join(wrong)


def test_every_documented_name_has_a_row() -> None:
    rows = {row.name for row in ROWS}
    names = {name for name, _ in DOCUMENTED}
    assert rows <= names, "a row of a name that no generation has"
    assert not rows & set(EXEMPT), "exempt, and has a row"
    assert set(EXEMPT) <= names, "exempt, and no name"
    assert names == rows | set(EXEMPT), "write its row in test/kernels/names"


def test_rows_say_how_each_generation_calls_them() -> None:
    for row, generation in CASES:
        assert getattr(row, generation) is not None, f"{row.id} in {generation}"
    ids = [row.id for row in ROWS]
    assert len(ids) == len(set(ids))
