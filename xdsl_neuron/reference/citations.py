"""
Citations of the reference pages: `bir.md 6.10` is a section of a page under `docs`.

After the page stands a section, or several as in `bir.md 6.7, 6.5` and `nki.md 1.2 to
1.4`; a page alone cites all of it.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

PAGES: Final = {
    "penguin.md": "reference/penguin.md",
    "bir.md": "reference/bir.md",
    "dma.md": "reference/dma.md",
    "nki.md": "reference/nki.md",
    "design.md": "design.md",
}
"""Where the cited pages are, below `docs`."""
_NAMES: Final = "|".join([*map(re.escape, PAGES), r"timing\.md"])
"""What is read as a page; one of these has none yet."""

_SECTION: Final = r"\d+[a-z]?(?:\.\d+)*"
_CITATION: Final = re.compile(
    rf"(?<![\w/-])(?P<page>{_NAMES})\b"
    rf"(?P<sections>`? {_SECTION}\b(?:(?:,| and| to) {_SECTION}\b)*)?",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(
    rf'^#+ (?P<section>{_SECTION})\.? .*<a id="(?P<anchor>[^"]*)"></a>$', re.M
)
_BREAK: Final = re.compile(r'[ \t]*"?[ \t]*\n[ \t]*(?://+|#+|")?[ \t]*')
"""The end of a line in a text or a comment, or between two parts of a string."""


class Citation(NamedTuple):
    """A page as it is written, and a section of it, None where all is meant."""

    page: str
    section: str | None

    def __str__(self) -> str:
        return self.page if self.section is None else f"{self.page} {self.section}"


def citations(text: str) -> Iterator[Citation]:
    """All citations in a text; lines may end inside one."""
    for found in _CITATION.finditer(_BREAK.sub(" ", text)):
        sections: list[str] = re.findall(_SECTION, found["sections"] or "")
        for section in sections or (None,):
            yield Citation(found["page"], section)


def anchors(page: str) -> dict[str, str]:
    """The sections that the text of a page has, with the anchors of their headings."""
    return {found["section"]: found["anchor"] for found in _HEADING.finditer(page)}


def linked(source: str) -> str:
    """A source in Markdown: every cited section leads there."""

    def links(found: re.Match[str]) -> str:
        page, sections = found["page"], found["sections"]
        target = PAGES.get(page)
        if target is None or sections is None:
            return found[0]
        first, *rest = re.split(rf"({_SECTION})", sections.strip())[1:]
        parts = [f"[{page} {first}]({target}#{first})"]
        for text, section in zip(rest[::2], rest[1::2], strict=False):
            parts += text, f"[{section}]({target}#{section})"
        return "".join(parts)

    return _CITATION.sub(links, source)
