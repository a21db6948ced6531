"""
Verification of a whole module: every error, in program order, in one linear walk.

xDSL stops at the first error, prints the whole module with it, and does not check that
a value is defined before it is used.
"""

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import ErasedSSAValue
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.collected import one_verification
from xdsl_neuron.diagnostics import Diagnostic, DiagnosticError
from xdsl_neuron.upstream import UPSTREAM_FAILURES, raised_by_xdsl


def verify(op: Operation) -> None:
    """Verify `op` and everything in it; DiagnosticError carries every error found."""
    if errors := verification_errors(op):
        raise DiagnosticError.of(errors)


def verification_errors(op: Operation) -> list[Diagnostic]:
    """Every error of `op` and everything nested in it, in program order."""
    verifier = _Verifier()
    with one_verification():
        verifier.visit_op(op)
    return verifier.errors


@dataclass
class _Verifier:
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    complete: set[Operation] = field(default_factory=set[Operation])
    """Operations that the walk has left: their results may be used."""
    current: dict[Region, Block] = field(default_factory=dict[Region, Block])
    """The block that the walk is in, for each region around it."""
    dominance: dict[Region, "Dominance"] = field(
        default_factory=dict[Region, "Dominance"]
    )

    def visit_op(self, op: Operation) -> None:
        self._check(op)
        for region in op.regions:
            for block in region.blocks:
                self.current[region] = block
                for nested in block.ops:
                    self.visit_op(nested)
            self.current.pop(region, None)
        self.complete.add(op)

    def _check(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            if (message := self._operand_error(operand)) is not None:
                self._report(op, f"operand #{index} {message}")
        if (message := _structure_error(op)) is not None:
            self._report(op, message)
        try:
            op.verify_()
        except VerifyException as error:
            self._report(op, str(error))
        except UPSTREAM_FAILURES as error:
            if not raised_by_xdsl(error):
                raise
            self._report(op, f"does not verify: {error or type(error).__name__}")

    def _report(self, op: Operation, message: str) -> None:
        self.errors.append(Diagnostic.at(op, message))

    def _operand_error(self, value: SSAValue) -> str | None:
        """Why the value is not defined at the operation the walk is at."""
        if isinstance(value, ErasedSSAValue):
            return "is a value that has been erased"
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        region = None if block is None else block.parent
        if block is None or region is None:
            return None  # a fragment that is not part of a module
        here = self.current.get(region)
        if here is None:
            return "is defined in a region that does not enclose this use"
        if here is not block:
            return self._across_blocks(region, block, here)
        if isinstance(value, OpResult) and value.op not in self.complete:
            return "is used before its definition"
        return None

    def _across_blocks(
        self, region: Region, definition: Block, use: Block
    ) -> str | None:
        if region not in self.dominance:
            self.dominance[region] = Dominance(region)
        if self.dominance[region].dominates(definition, use):
            return None
        return "does not dominate this use"


def _structure_error(op: Operation) -> str | None:
    """
    Why the operation may not stand where it does, or its blocks end as they do.

    The rules are those of `xdsl.ir.Operation.verify` and `Block.verify`.
    """
    block = op.parent
    region = None if block is None else block.parent
    if op.successors:
        if block is None or region is None:
            return "with successors must be in a block of a region"
        if block.last_op is not op:
            return "with successors must terminate its block"
        if any(successor.parent is not region for successor in op.successors):
            return "branches to a block of a different region"
    if block is not None and region is not None and block.last_op is op:
        parent = region.parent
        single = block.prev_block is None and block.next_block is None
        free = single and (parent is None or parent.has_trait(NoTerminator))
        if not free and not op.has_trait(IsTerminator):
            return "must be a terminator, as the last of its block"
    for nested in op.regions:
        first = nested.blocks.first
        if first is None or not first.is_empty or first.next_block is not None:
            continue
        if not op.has_trait(NoTerminator):
            return "expects its block to end in a terminator, but it is empty"
    return None


class Dominance:
    """
    Which block dominates which, for one region.

    Immediate dominators as in Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
    Algorithm"; then each block is an interval in a walk of the dominator tree, so a
    question costs two comparisons. A block that cannot be reached is dominated by every
    block, as in MLIR.
    """

    def __init__(self, region: Region) -> None:
        order = _reverse_postorder(region)
        number = {block: index for index, block in enumerate(order)}
        predecessors: list[list[int]] = [[] for _ in order]
        for index, block in enumerate(order):
            for successor in _successors(block):
                predecessors[number[successor]].append(index)
        intervals = _tree_intervals(_immediate_dominators(predecessors))
        self._interval = dict(zip(order, intervals, strict=True))

    def dominates(self, a: Block, b: Block) -> bool:
        """Whether every path from the entry to `b` goes through `a`."""
        if b not in self._interval:
            return True
        if a not in self._interval:
            return False
        first, last = self._interval[a]
        return first <= self._interval[b][0] <= last


def _successors(block: Block) -> tuple[Block, ...]:
    """The blocks of the same region that `block` branches to."""
    last = block.last_op
    if last is None:
        return ()
    return tuple(s for s in last.successors if s.parent is block.parent)


def _reverse_postorder(region: Region) -> list[Block]:
    """The reachable blocks, each before its successors except along back edges."""
    entry = region.blocks.first
    if entry is None:
        return []
    postorder: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return postorder[::-1]


def _immediate_dominators(predecessors: list[list[int]]) -> list[int]:
    """For blocks numbered in reverse postorder, the number of each one's dominator."""
    unknown = len(predecessors)
    parent = [0] + [unknown] * (len(predecessors) - 1)
    changed = True
    while changed:
        changed = False
        for block in range(1, len(predecessors)):
            known = [p for p in predecessors[block] if parent[p] != unknown]
            best = known[0]
            for other in known[1:]:
                best = _common_dominator(parent, best, other)
            if parent[block] != best:
                parent[block] = best
                changed = True
    return parent


def _common_dominator(parent: list[int], a: int, b: int) -> int:
    while a != b:
        if a > b:
            a = parent[a]
        else:
            b = parent[b]
    return a


def _tree_intervals(parent: list[int]) -> list[tuple[int, int]]:
    """
    For each node of a tree its number in preorder and the largest one below it.

    `parent[i] < i` for every node but the root, which is 0.
    """
    size = [1] * len(parent)
    for node in range(len(parent) - 1, 0, -1):
        size[parent[node]] += size[node]
    first = [0] * len(parent)
    free = [1] * len(parent)
    for node in range(1, len(parent)):
        above = parent[node]
        first[node] = first[above] + free[above]
        free[above] += size[node]
    return [(start, start + n - 1) for start, n in zip(first, size, strict=True)]
