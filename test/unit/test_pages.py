"""
The written pages of the documentation run as they stand.

A block "python NAME" is a file, a block "console" a session: after `$ ` a command of
ours, below it all it prints; a line `...` stands for any lines.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_lines import ROOT, TOOLS, call

PAGES = ("bring-your-kernel.md", "errors.md")

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def sections(page: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Title and blocks (language, file name, text) of each part under a heading."""
    text = (ROOT / "docs" / page).read_text()
    for part in re.split(r"^(?=#+ )", text, flags=re.M):
        blocks = _BLOCK.findall(part)
        if blocks:
            yield part.splitlines()[0].lstrip("# "), blocks


def run(command: str) -> str:
    """What one of our commands prints."""
    name, *arguments = shlex.split(command)
    return call(TOOLS[name], arguments, join_stderr=True).out.decode()


def check(session: str) -> None:
    """Every command prints what stands below it."""
    for step in re.split(r"^\$ ", session, flags=re.M)[1:]:
        command, _, expected = step.partition("\n")
        pattern = re.escape(expected.rstrip()).replace(r"\.\.\.", r"(?s:.*?)")
        found = run(command).rstrip()
        if not re.fullmatch(pattern, found):
            assert found == expected.rstrip(), command


CASES = [(page, title, blocks) for page in PAGES for title, blocks in sections(page)]


@pytest.mark.parametrize(
    ("page", "title", "blocks"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES]
)
def test_section(
    page: str,
    title: str,
    blocks: list[tuple[str, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    sessions = 0
    for language, name, text in blocks:
        if language == "python":
            (tmp_path / name).write_text(text)
        elif language == "console":
            check(text)
            sessions += 1
    assert sessions, f"{page}: nothing of '{title}' is run"
