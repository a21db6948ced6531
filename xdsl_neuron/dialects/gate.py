"""
Gates: the legality rules of instructions, each one method with its exact literal.

A gate stands in the class of the operation it constrains. The verifier calls all gates
of an operation; the tracer calls the same ones on insertion. `gates_of` lists them for
the generated table.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Final, Literal, TypeVar

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

_MARK: Final = "__gate__"
_NAMED_CODE: Final = re.compile(r"\b(?:BIR|EBIR|EDGE|DMA|MLO)\d{3}\b")
_NUMBERED_CODES: Final = re.compile(r"\bcodes? ([\d., to]*\d)")
_NUMBER: Final = re.compile(r"\d+")

GateStatus = Literal["documented", "inferred", "our choice"]
F = TypeVar("F", bound=Callable[..., None])


class Stage(IntEnum):
    """The order in which an instruction's rules are checked (bir.md 7.1)."""

    BASE = 0
    MEMORY = 1
    INDIRECT = 2
    ARCH = 3
    ENGINE = 4
    OPERATION = 5


@dataclass(frozen=True)
class Gate:
    """A rule's literal, where it comes from and how sure it is."""

    literal: str
    source: str
    status: GateStatus = "documented"
    name: str = ""
    stage: Stage = Stage.OPERATION
    """When it is checked: rules of one stage are in program order."""

    @property
    def codes(self) -> str:
        """The documented codes that its source names, as messages show them."""
        named = _NAMED_CODE.findall(self.source)
        numbered = _NUMBERED_CODES.search(self.source)
        if numbered is not None:
            named.append(_NUMBER.sub(lambda n: f"BIR{int(n[0]):03}", numbered[1]))
        return ", ".join(named)


def gate(
    literal: str,
    source: str,
    status: GateStatus = "documented",
    *,
    stage: Stage = Stage.OPERATION,
) -> Callable[[F], F]:
    """Marks a method of an operation as the gate for `literal`."""

    def mark(method: F) -> F:
        found = Gate(literal, source, status, method.__name__, stage)
        setattr(method, _MARK, found)
        return method

    return mark


@cache
def gates_of(operation: type[Operation]) -> tuple[Gate, ...]:
    """
    The gates of an operation, stage by stage.

    In a stage those of base classes come first, in program order.
    """
    found: dict[str, Gate] = {}
    for parent in reversed(operation.mro()):
        for name, member in vars(parent).items():
            marked = getattr(member, _MARK, None)
            if isinstance(marked, Gate):
                found[name] = marked
            elif name in found:
                del found[name]
    return tuple(sorted(found.values(), key=lambda gate: gate.stage))


def check_gates(operation: Operation) -> None:
    """
    Checks every gate of an operation's class, in order.

    Raises `VerifyException`, whose message ends with the documented code.
    """
    for found in gates_of(type(operation)):
        try:
            getattr(operation, found.name)()
        except VerifyException as error:
            if not found.codes:
                raise
            raise VerifyException(f"{error} [{found.codes}]") from None
