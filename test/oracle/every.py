"""All oracles, by the instructions they speak of."""

from oracle import (
    accumulators,
    activation,
    elementwise,
    gathers,
    generators,
    matmul,
    movement,
    mx,
    reductions,
    search,
    selection,
    statistics,
    system,
)
from oracle.kernel import ORACLES

MODULES = (
    accumulators,
    activation,
    elementwise,
    gathers,
    generators,
    matmul,
    movement,
    mx,
    reductions,
    search,
    selection,
    statistics,
    system,
)
"""Imported for what they register."""

__all__ = ["MODULES", "ORACLES"]
