"""Random kernels of memory and DMA methods: NumPy and every level agree."""

from random import Random
from typing import Any

import numpy as np
import pytest
import random_kernels
from hypothesis import HealthCheck, given, settings, strategies as st
from movement_draw import draw
from random_kernels import check, check_random

EXAMPLES = 500
KINDS = {
    "broadcast_partition",
    "dma_copy",
    "dma_transpose",
    "gather_flattened",
    "gather_transpose",
    "identity",
    "indirect_load",
    "indirect_save",
    "load",
    "local_gather",
    "memset",
    "register_copy",
    "shared_constant",
    "store",
    "store_number",
    "stream_shuffle",
}


@given(st.randoms(use_true_random=False, note_method_calls=False))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_random_kernels_agree(random: Random) -> None:
    check_random(random)


def test_every_method_is_drawn() -> None:
    drawn: set[str] = set()
    for number in range(120):
        drawn |= {step.kind for step in draw(Random(number)).steps}
    assert drawn == KINDS


def test_a_wrong_element_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one tile of the expectation is turned over."""
    plan = draw(Random(1))
    check(plan, from_text=True, bound=20000)
    run = random_kernels.Reference.run

    def changed(self: random_kernels.Reference) -> dict[str, Any]:
        found = run(self)
        last = plan.tiles()[-1].name
        found[last] = found[last].copy()
        found[last].reshape(-1).view(np.uint8)[0] ^= 1
        return found

    monkeypatch.setattr(random_kernels.Reference, "run", changed)
    with pytest.raises(AssertionError, match=r"penguin: 't\d+' differs at \[0\]"):
        check(plan, from_text=False, bound=20000)


def test_the_command_runs_kernels_by_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["random_kernels.py", "--count", "3", "--first", "7"]
    monkeypatch.setattr("sys.argv", arguments)
    assert random_kernels.main() == 0
    assert capsys.readouterr().out == "3 of 3 kernels agree\n"
