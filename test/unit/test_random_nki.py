"""Random small kernels in each generation of NKI: NumPy and every level agree."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from random_nki import Drawer, check_kernel


@pytest.mark.parametrize("generation", ["functional", "destination"])
@given(random=st.randoms(use_true_random=False, note_method_calls=False))
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_random_kernels(generation: str, random: Random) -> None:
    check_kernel(Drawer(random).draw(random.randint(1, 6)), generation)


def test_a_wrong_kernel_is_found() -> None:
    kernel = Drawer(Random(3)).draw(4)
    name = kernel.outputs[-1].name
    kernel.arrays[name] = kernel.arrays[name] + 1
    with pytest.raises(AssertionError):
        check_kernel(kernel, "destination")


def test_every_step_is_drawn_and_ragged_tiles_too() -> None:
    kernels = [Drawer(Random(number)).draw(6) for number in range(40)]
    text = "\n".join(k.source("destination") for k in kernels)
    for call in (
        "tensor_tensor",
        "tensor_scalar",
        "tensor_reduce",
        "tensor_copy",
        "tensor_copy_predicated",
        "activation",
        "op1=",
    ):
        assert call in text
    assert any(k.height % k.rows for k in kernels)
    assert any(k.tiles > 1 for k in kernels)
