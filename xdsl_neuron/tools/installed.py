"""What is installed for xDSL's tools, also where a package among it is broken."""

import functools
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from xdsl.universe import Universe

from xdsl_neuron.universe import UNIVERSE

GROUP = "xdsl.universe"


@functools.cache
def universe() -> Universe:
    """
    Everything installed, and our own part even where this package is only on the path.

    Discovery reads the metadata of every installed package, so it is done once.
    """
    return gathered(entry_points(group=GROUP))


def gathered(found: Iterable[EntryPoint]) -> Universe:
    """
    What the entry points stand for, and our own part.

    One that cannot be loaded, or has a name that is taken, is left out with a warning
    on stderr: somebody else's package does not keep this tool from its work.
    """
    parts: list[Universe] = []
    for entry in sorted(found, key=lambda entry: entry.name):
        try:
            part = entry.load()
        except Exception as error:  # the import of another package may raise anything
            _leave_out(entry, f"{type(error).__name__}: {error}")
            continue
        if part is UNIVERSE:
            continue
        if not isinstance(part, Universe):
            _leave_out(entry, "it is no xdsl.universe.Universe")
            continue
        taken = _taken([UNIVERSE, *parts], part)
        if taken:
            _leave_out(entry, f"'{taken[0]}' is defined by another package, too")
            continue
        parts.append(part)
    parts.append(UNIVERSE)
    return Universe(
        all_dialects=_merged(parts, lambda part: part.all_dialects),
        all_passes=_merged(parts, lambda part: part.all_passes),
        all_targets=_merged(parts, lambda part: part.all_targets),
        all_frontends=_merged(parts, lambda part: part.all_frontends),
    )


def _tables(part: Universe) -> tuple[dict[str, Any], ...]:
    return part.all_dialects, part.all_passes, part.all_targets, part.all_frontends


def _taken(parts: list[Universe], part: Universe) -> list[str]:
    """The names of a part that one before has as well."""
    return [
        name
        for before in parts
        for known, new in zip(_tables(before), _tables(part), strict=True)
        for name in new
        if name in known
    ]


def _merged(
    parts: list[Universe], table: Callable[[Universe], dict[str, Any]]
) -> dict[str, Any]:
    return {name: value for part in parts for name, value in table(part).items()}


def _leave_out(entry: EntryPoint, reason: str) -> None:
    package = "" if entry.dist is None else f" of package '{entry.dist.name}'"
    print(
        f"warning: entry point '{entry.name}'{package} in '{GROUP}' is left out: "
        f"{reason}",
        file=sys.stderr,
    )
