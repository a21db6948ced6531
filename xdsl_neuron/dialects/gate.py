"""
Gates: the legality rules of instructions, each one method with its exact literal.

A gate stands in the class of the operation it constrains. The verifier calls all gates
of an operation; the tracer calls the same ones on insertion. `gates_of` lists them for
the generated table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeVar

from xdsl.ir import Operation

_MARK: Final = "__gate__"

GateStatus = Literal["documented", "inferred", "our choice"]
F = TypeVar("F", bound=Callable[..., None])


@dataclass(frozen=True)
class Gate:
    """A rule's literal, where it comes from and how sure it is."""

    literal: str
    source: str
    status: GateStatus = "documented"
    name: str = ""


def gate(
    literal: str, source: str, status: GateStatus = "documented"
) -> Callable[[F], F]:
    """Marks a method of an operation as the gate for `literal`."""

    def mark(method: F) -> F:
        setattr(method, _MARK, Gate(literal, source, status, method.__name__))
        return method

    return mark


@cache
def gates_of(operation: type[Operation]) -> tuple[Gate, ...]:
    """The gates of an operation: those of base classes first, in program order."""
    found: dict[str, Gate] = {}
    for parent in reversed(operation.mro()):
        for name, member in vars(parent).items():
            marked = getattr(member, _MARK, None)
            if isinstance(marked, Gate):
                found[name] = marked
            elif name in found:
                del found[name]
    return tuple(found.values())


def check_gates(operation: Operation) -> None:
    """Checks every gate of an operation's class, in order; `VerifyException`."""
    for found in gates_of(type(operation)):
        getattr(operation, found.name)()
