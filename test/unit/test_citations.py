"""Every cited page and section of the reference exists."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from xdsl_neuron.reference.citations import PAGES, Citation, anchors, citations, linked

ROOT = Path(__file__).parents[2]
FOLDERS = ("xdsl_neuron", "test", "docs", "bench", "examples")
SUFFIXES = (".py", ".mlir", ".md")


def files() -> Iterator[Path]:
    """What may cite: sources, tests, pages, benchmarks."""
    yield from ROOT.glob("*.md")
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            # This file's examples need not exist.
            if path.suffix in SUFFIXES and path != Path(__file__):
                yield path


@cache
def sections(page: str) -> frozenset[str] | None:
    """The sections of a page, None where there is no such page."""
    path = PAGES.get(page)
    if path is None or not (ROOT / "docs" / path).is_file():
        return None
    return frozenset(anchors((ROOT / "docs" / path).read_text()))


def reason(citation: Citation) -> str | None:
    """Why a citation leads nowhere, None where it does not."""
    found = sections(citation.page)
    if found is None:
        return f"no page {citation.page}: write one of {', '.join(PAGES)}"
    if citation.section is None or citation.section in found:
        return None
    return f"docs/{PAGES[citation.page]} has no section {citation.section}"


def test_every_citation_leads_to_a_section() -> None:
    missing: dict[str, list[str]] = {}
    for path in files():
        for citation in dict.fromkeys(citations(path.read_text())):
            why = reason(citation)
            if why is not None:
                missing.setdefault(why, []).append(str(path.relative_to(ROOT)))
    assert not missing, "\n".join(
        f"{why} (cited in {', '.join(paths[:5])})" for why, paths in missing.items()
    )


def test_the_code_cites() -> None:
    """A test of nothing passes, too."""
    count = sum(len(list(citations(path.read_text()))) for path in files())
    assert count > 1000


@pytest.mark.parametrize("page", PAGES)
def test_anchors_are_sections(page: str) -> None:
    found = anchors((ROOT / "docs" / PAGES[page]).read_text())
    assert found
    assert all(section == anchor for section, anchor in found.items())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see bir.md 6.10.", ["bir.md 6.10"]),
        ("bir.md 6.7, 6.5", ["bir.md 6.7", "bir.md 6.5"]),
        ("nki.md 1.2 to 1.4", ["nki.md 1.2", "nki.md 1.4"]),
        ("bir.md 6 and 7, dma.md 9.", ["bir.md 6", "bir.md 7", "dma.md 9"]),
        ("bir.md 7.4 codes 230, 231", ["bir.md 7.4"]),
        ("bir.md 10.6 1468", ["bir.md 10.6"]),
        ("bir.md gives 24 GiB", ["bir.md"]),
        ("design.md 7b", ["design.md 7b"]),
        ("DESIGN.md 7b", ["DESIGN.md 7b"]),
        ("a sum (nki.md\n    5.5)", ["nki.md 5.5"]),
        ("# a sum (nki.md\n# 5.5)", ["nki.md 5.5"]),
        ('"nki.md 5.5, "\n    "bir.md 6.10"', ["nki.md 5.5", "bir.md 6.10"]),
        ('"nki.md "\n    "5.5"', ["nki.md 5.5"]),
        ("[bir.md 6.10](reference/bir.md#6.10)", ["bir.md 6.10"]),
        ("redesign.md 4", []),
    ],
)
def test_what_a_citation_is(text: str, expected: list[str]) -> None:
    assert [str(found) for found in citations(text)] == expected


def test_links() -> None:
    assert linked("bir.md 6.7, 6.5; of NKI 0.7") == (
        "[bir.md 6.7](reference/bir.md#6.7), [6.5](reference/bir.md#6.5); of NKI 0.7"
    )
    assert linked("dma.md 9.4 BIR049") == "[dma.md 9.4](reference/dma.md#9.4) BIR049"
    assert linked("nki.isa.activation of NKI 0.7") == "nki.isa.activation of NKI 0.7"
