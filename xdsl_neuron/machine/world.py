"""
Where the ranks of one process meet.

A collective is executed by the last rank of its group to arrive, while the others wait;
a receive waits for its send. Ranks that all wait are a deadlock, which is an error.
"""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Meeting: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], None]


class Deadlock(Exception):
    """All ranks wait, or one has failed and nobody comes any more."""


class _Room:
    """One meeting of a group: what each rank brings."""

    def __init__(self) -> None:
        self.brought: dict[int, tuple[Array, Array]] = {}
        self.done = False


class World:
    """The ranks of a run, in their threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._condition = Condition()
        self._begin()

    def _begin(self) -> None:
        self._waiting = 0
        self._gone = 0
        self._failed = False
        self._rooms: dict[tuple[tuple[int, ...], int], _Room] = {}
        self._turns: dict[tuple[tuple[int, ...], int], int] = {}
        self._mail: dict[tuple[int, int], deque[Array]] = {}

    def begin(self) -> None:
        """A new run: nobody waits, nothing is under way."""
        with self._condition:
            self._begin()

    def leave(self, failed: bool) -> None:
        """A rank has finished, or failed."""
        with self._condition:
            self._gone += 1
            self._failed = self._failed or failed
            self._changed()

    def meet(
        self, rank: int, group: tuple[int, ...], act: Meeting, out: Array, given: Array
    ) -> None:
        """Wait for the group's other ranks; the last one acts on all arrays."""
        with self._condition:
            turn = self._turns.get((group, rank), 0)
            self._turns[(group, rank)] = turn + 1
            room = self._rooms.setdefault((group, turn), _Room())
            room.brought[rank] = (out, given)
            if len(room.brought) == len(group):
                pairs = [room.brought[each] for each in group]
                act([out for out, _ in pairs], [given for _, given in pairs])
                room.done = True
                del self._rooms[(group, turn)]
                self._changed()
                return
            self._wait(lambda: room.done)

    def send(self, rank: int, peer: int, given: Array) -> None:
        """Leave a copy for a rank."""
        with self._condition:
            self._mail.setdefault((rank, peer), deque()).append(given.copy())
            self._changed()

    def receive(self, rank: int, peer: int, out: Array) -> None:
        """Wait for what a rank sends."""
        with self._condition:
            letters = self._mail.setdefault((peer, rank), deque())
            self._wait(lambda: bool(letters))
            out[...] = letters.popleft().reshape(out.shape)

    def _changed(self) -> None:
        # Whoever waits looks again, and counts itself anew.
        self._waiting = 0
        self._condition.notify_all()

    def _wait(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._waiting += 1
            if self._failed or self._waiting + self._gone >= self.size:
                self._failed = True
                self._changed()
                raise Deadlock
            self._condition.wait()


class Rank(NamedTuple):
    """One rank of a world."""

    number: int
    world: World
