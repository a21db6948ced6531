"""What written pages name exists: links, and the files and tests of CONTRIBUTING.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BASES = (ROOT, ROOT / "xdsl_neuron", ROOT / "test")

_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_PATH = re.compile(r"`((?:[\w.]+/)*[\w.-]+\.(?:py|mlir|toml))(?:::(\w+))?`")


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    found = set[str](_LINK.findall(page.read_text()))
    missing = {link for link in found if not (page.parent / link).exists()}
    assert not missing


def test_contributing_names_what_exists() -> None:
    named: list[tuple[str, str]] = _PATH.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) > 30
    for path, test in named:
        # A bare name stands behind another one of its folder.
        places = [base / path for base in BASES]
        if "/" not in path:
            places += (ROOT / "xdsl_neuron").glob(path)
            places += (ROOT / "test").rglob(path)
        files = [place for place in places if place.is_file()]
        assert files, f"{path} is no file"
        assert not test or f"def {test}(" in files[0].read_text(), f"{path}::{test}"
