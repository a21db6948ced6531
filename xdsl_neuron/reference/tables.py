"""Markdown tables of the generated pages."""

from collections.abc import Iterable, Iterator, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    yield line(header)
    yield line(["---"] * len(header))
    for row in rows:
        yield line(row)
