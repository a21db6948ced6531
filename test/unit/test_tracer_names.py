"""A tile is named after the variable it is assigned to."""

import inspect
from types import SimpleNamespace

from xdsl_neuron.tracer.names import assigned_name


def made(*_: object) -> str | None:
    """What the caller calls the result."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return assigned_name(frame.f_back)


def test_plain_assignment() -> None:
    tile = made()
    assert tile == "tile"


def test_loops_give_the_same_name_each_time() -> None:
    for _ in range(3):
        row = made(1, 2)
        assert row == "row"


def test_no_variable_no_name() -> None:
    # (pytest itself assigns what it asserts, so the calls stand alone.)
    tiles = [made(), made()]
    assert tiles == [None, None]
    space = SimpleNamespace()
    space.tile = made()
    assert space.tile is None


def test_closures() -> None:
    cell = made()

    def inner() -> str | None:
        return cell

    assert inner() == "cell"
