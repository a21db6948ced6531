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


KERNEL = """
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy(x):
    y = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=y, src=x)
    return y


print("sum", copy(np.ones((4, 4), np.float32)).sum())
"""


def check(session: str) -> None:
    """Every command prints what stands below it."""
    for step in re.split(r"^\$ ", session, flags=re.M)[1:]:
        command, _, expected = step.partition("\n")
        pattern = re.escape(expected.rstrip()).replace(r"\.\.\.", r"(?s:.*?)")
        found = run(command).rstrip()
        if not re.fullmatch(pattern, found):
            assert found == expected.rstrip(), command


CONSOLE = "$ neuron-run k.py LEVEL\nsum 16.0\n...\nlevel  bir\nruns  1\n"


def test_a_page_that_lies_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a session shows must come from its own command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(KERNEL)
    truth = CONSOLE.replace("LEVEL", "--level bir")
    check(truth)
    for lie in (
        CONSOLE.replace("LEVEL", "-- --level bir"),
        CONSOLE.replace(" LEVEL", ""),
        truth.replace("level  bir", "level  dma"),
        truth.replace("16.0", "17.0"),
        truth.replace("runs  1", "runs  2"),
        truth.replace("\nruns  1", ""),
        truth.replace("--level bir", "--level bir --inputs x.npz"),
    ):
        with pytest.raises(AssertionError):
            check(lie)


def test_levels_are_shown() -> None:
    """A page that asks for a level shows at which the kernel ran."""
    found = 0
    blocks = [block for page in PAGES for _, each in sections(page) for block in each]
    for step in [step for *_, text in blocks for step in re.split(r"(?m)^\$ ", text)]:
        command, _, printed = step.partition("\n")
        asked = re.search(r"--level[ =](\w+)", command)
        if asked and command.startswith("neuron-run") and ".py:" not in command:
            assert f"\nlevel  {asked[1]}\n" in printed, command
            found += 1
    assert found


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
