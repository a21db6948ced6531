"""The line of the roster that an operation of BIR is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """An instruction's line in the roster (bir.md 2)."""

    ordinal: int
    name: str
    min_level: int = 20
    """First architecture level that has it."""
