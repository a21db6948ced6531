"""Random kernels of memory and DMA methods: NumPy and every level agree."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from movement_draw import draw
from random_kernels import check, check_random
from random_steps import Plan

EXAMPLES = 500


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
    assert len(drawn) == 19 - 1, sorted(drawn)


def test_a_wrong_result_is_found() -> None:
    """The comparison is not empty: a plan whose arrays differ is refused."""
    plan: Plan = draw(Random(1))
    check(plan, from_text=True, bound=20000)
