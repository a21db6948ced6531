"""The register of numeric rules: documented, inferred, or our choice."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

Status = Literal["documented", "inferred", "our choice"]


@dataclass(frozen=True)
class Rule:
    """
    One numeric rule of the machine, for the generated reference.

    `source` names the section of the reference that states it or leaves it open.
    """

    topic: str
    statement: str
    status: Status
    source: str


def collect_rules() -> tuple[Rule, ...]:
    """The `RULES` of every module of this package, ordered by module name."""
    return tuple(_rules())


def _rules() -> Iterator[Rule]:
    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__):
        yield from getattr(import_module(f"{package}.{module.name}"), "RULES", ())
