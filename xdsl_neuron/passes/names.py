"""Unique names of instructions, locations and blocks."""

from collections.abc import Iterable


class NamePool:
    """Hands out names that differ from each other and from those in use."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Marks a name as in use."""
        self._used.add(name)

    def fresh(self, base: str) -> str:
        """`base` where it is free, else `base.1`, `base.2`, ..."""
        name = base
        number = self._next.get(base, 1)
        while name in self._used:
            name = f"{base}.{number}"
            number += 1
        self._next[base] = number
        self._used.add(name)
        return name

    def numbered(self, prefix: str) -> str:
        """The next free of `prefix0`, `prefix1`, ..."""
        number = self._next.get(f"{prefix}#", 0)
        while f"{prefix}{number}" in self._used:
            number += 1
        self._next[f"{prefix}#"] = number + 1
        name = f"{prefix}{number}"
        self._used.add(name)
        return name


def iteration_suffix(hint: str | None, value: int) -> str:
    """What an unrolled iteration adds to a name: `_i2`, `_im1` for a negative value."""
    sign = "m" if value < 0 else ""
    return f"_{hint or 'i'}{sign}{abs(value)}"
