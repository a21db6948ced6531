"""The committed reference pages are those the definitions give."""

from pathlib import Path

import pytest

from xdsl_neuron.reference.pages import PAGES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_page_is_current(name: str) -> None:
    expected = "\n".join(PAGES[name]()) + "\n"
    assert (DOCS / name).read_text() == expected, (
        "run python -m xdsl_neuron.reference docs"
    )
