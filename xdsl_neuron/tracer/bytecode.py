"""What can follow what in a kernel's bytecode, and which names it binds where."""

import dis
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, Final, TypeGuard

from xdsl_neuron.diagnostics import SourceLocation, python_place

ENDS: Final = ("RETURN_VALUE", "RETURN_CONST")
_NO_NEXT: Final = (
    *ENDS,
    "RAISE_VARARGS",
    "RERAISE",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
)


@dataclass(frozen=True, slots=True)
class Flow:
    """Instructions by offset, and what can follow each."""

    instructions: dict[int, dis.Instruction]
    after: dict[int, tuple[int, ...]]

    def following(self, offset: int, *names: str) -> dis.Instruction:
        """The first instruction behind an offset with one of these names."""
        return next(
            each
            for each in self.instructions.values()
            if each.offset > offset and each.opname.startswith(names)
        )


@lru_cache(maxsize=256)
def flow_of(code: CodeType) -> Flow:
    """The instructions of a function."""
    listed = list(dis.get_instructions(code))
    after: dict[int, tuple[int, ...]] = {}
    for each, follower in zip(listed, [*listed[1:], None], strict=True):
        targets: list[int] = []
        if follower is not None and each.opname not in _NO_NEXT:
            targets.append(follower.offset)
        if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
            targets.append(each.argval)
        after[each.offset] = tuple(targets)
    return Flow({each.offset: each for each in listed}, after)


@dataclass(frozen=True, slots=True)
class Region:
    """The instructions of one trip: from `start`, until one of `stops` comes again."""

    code: CodeType
    start: int
    stops: frozenset[int]
    inside: frozenset[int]


@lru_cache(maxsize=256)
def region_of(code: CodeType, start: int, stops: frozenset[int]) -> Region:
    """Without what follows a `break`, from where only another loop leads back."""
    after = flow_of(code).after
    seen, left = {start}, [start]
    while left:
        for target in after[left.pop()]:
            if target not in seen and target not in stops:
                seen.add(target)
                left.append(target)
    header = min(stops)
    inside: set[int] = set()
    left = [
        offset
        for offset in seen
        if any(t in stops and (t != header or offset > t) for t in after[offset])
    ]
    before: dict[int, list[int]] = {}
    for offset in seen:
        for target in after[offset]:
            before.setdefault(target, []).append(offset)
    while left:
        offset = left.pop()
        if offset not in inside:
            inside.add(offset)
            left.extend(before.get(offset, ()))
    return Region(code, start, stops, frozenset(inside))


def whole(code: CodeType) -> Region:
    """A function, from its call to its return."""
    return Region(code, 0, frozenset(), frozenset(flow_of(code).instructions))


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether a value is a tuple, of anything."""
    return isinstance(value, tuple)


def names_of(instruction: dis.Instruction) -> tuple[object, ...]:
    """The names an instruction is about: two where it is two in one."""
    named: object = instruction.argval
    return named if is_tuple(named) else (named,)


def place_in(code: CodeType, instruction: dis.Instruction) -> SourceLocation:
    """Where an instruction stands in its file."""
    positions = instruction.positions
    line = None if positions is None else positions.lineno
    column = None if positions is None else positions.col_offset
    return python_place(
        code.co_filename, code.co_firstlineno if line is None else line, column
    )


@lru_cache(maxsize=256)
def bound_names(region: Region, in_module: bool) -> frozenset[str]:
    """The names that are bound, as variables of the module or not."""
    found: set[str] = set()
    for offset in region.inside:
        instruction = flow_of(region.code).instructions[offset]
        if instruction.opname.startswith("STORE_") and "ATTR" not in instruction.opname:
            if instruction.opname.endswith("_GLOBAL") == in_module:
                found.update(str(name) for name in names_of(instruction))
    return frozenset(found)
