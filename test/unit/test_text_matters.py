"""Every offset, step, count and flag of a level's text decides the result."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from xdsl_neuron.machine import MachineError
from xdsl_neuron.testing import reread, run_text, texts

REFUSED = (MachineError, ParseError, PassFailedException, VerifyException)

PROGRAM = (Path(__file__).parents[1] / "tools/Inputs/every_number.mlir").read_text()


def inputs() -> list[NDArray[np.float32] | NDArray[np.int32]]:
    """Arrays in which no two elements are equal."""
    rng = np.random.default_rng(3)
    a = rng.permutation(120).reshape(12, 10).astype(np.float32) + 0.5
    w = rng.permutation(845).reshape(65, 13).astype(np.float32) - 400.25
    return [a, w, np.array([[11], [3], [0], [3], [7]], np.int32)]


def damaged(text: str) -> Iterator[tuple[str, str]]:
    """
    The text with one thing changed, and what.

    Numbers in accesses, masks, loop bounds and limits go up by one (a dimension of one
    element has no step, an unread index limit and the tag of an iteration no effect);
    flags go.
    """
    for match in re.finditer(r"-?\d+", text):
        before, after = text[: match.start()], text[match.end() :]
        line = before.rsplit("\n", 1)[-1] + match.group() + after.split("\n", 1)[0]
        inside = before.rsplit("\n", 1)[-1]
        if not re.search(r"(\[|where|= \d* to |to |, |- |x )[^<]*$", inside):
            continue
        if "location" in line or "alloc" in line or "func" in line:
            continue
        if re.search(r"[%@#A-Za-z_.]$", before) or " x 1" == after[:4]:
            continue
        if "axes" in inside or "max_index = " in inside or "iterations = " in inside:
            continue
        yield f"{line.strip()}  # {match.group()}", f"{before}{_other(match)}{after}"
    for flag in (", reverse0", "accumulate = accumulate"):
        for match in re.finditer(flag, text):
            new = "accumulate = overwrite" if "=" in flag else ""
            yield flag, text[: match.start()] + new + text[match.end() :]


def _other(match: re.Match[str]) -> int:
    """One more; one less for an upper bound, whose next trip a mask may leave out."""
    upper = match.string[: match.start()].endswith(" to ")
    return int(match.group()) + (-1 if upper else 1)


@pytest.mark.parametrize("level", ["penguin", "bir", "dma"])
def test_every_number_matters(level: str) -> None:
    arrays = inputs()
    text = texts(reread(PROGRAM))[level]
    expected = run_text(text, arrays)
    changes = list(damaged(text))
    assert len(changes) > 40
    silent: list[str] = []
    for what, changed in changes:
        try:
            if run_text(changed, arrays) == expected:
                silent.append(what)
        except REFUSED:
            continue
    assert not silent, "\n".join(silent)
