"""
`target[...] = value`: a copy, which the value's own instruction saves where it can.

While tracing it is a copy: the kernel may use the value, or a view of it, again in ways
that show only later. When the kernel has ended all uses are known. A value that only
the copy reads is then written to the target at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.edges import discard, rename
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.masks import bounds_one_lane
from xdsl_neuron.tracer.codegen import NeuronCodegen
from xdsl_neuron.tracer.errors import NKIError
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.left_out import spread
from xdsl_neuron.tracer.state import Emission
from xdsl_neuron.tracer.views import View


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy right behind the instruction that made what it copies."""

    made: Emission
    copy: Instruction
    target: View
    tile: Buffer


class AssignmentBuilders(NeuronCodegen):
    """Assigning to tiles; `_copies` holds the copies that may turn out superfluous."""

    _copies: list[_Copy]
    _renamed: dict[str, str]
    _held: set[Buffer]
    """Tiles that instructions to come will use."""
    _gates_later: bool

    def assign(self, target: View, value: View) -> None:
        """
        `target[...] = value`; what the value's mask left out stays in the target.

        The copy's gates run when it is clear that it stays.
        """
        made = self.last
        mask = spread(value, target.shape)
        if made is None or not self._may_write(made, target, value):
            self.tensor_copy(self.broadcast(value, target.shape), target, mask)
            return
        self._gates_later = True
        try:
            self.tensor_copy(value, target, mask, name=made.name)
        finally:
            self._gates_later = False
        assert self.last is not None
        self._copies.append(_Copy(made, self.last.operation, target, value.base))

    def _check(self, inst: Instruction) -> None:
        if not self._gates_later:
            super()._check(inst)

    def _may_write(self, made: Emission, target: View, value: View) -> bool:
        """Whether an instruction made `value`, and could write `target` instead."""
        if made.views[0] is not value or self.block.last_op is not made.operation:
            return False
        if self.split_dims(penguin.TensorCopyOp, [target, value]):
            return False
        if "accumulate" in made.properties:  # it adds to what a tile in use holds
            return False
        if _writes_left_out(made.operation):
            return False
        allocation = value.base.value.owner
        if not isinstance(allocation, penguin.AllocOp) or allocation.init is not None:
            return False
        if allocation.parent is not self.block or value.access() is not None:
            return False
        if value.base.value.name_hint is not None or not value.base.value.has_one_use():
            return False
        like = (value.shape, value.element_type, value.space)
        if (target.shape, target.element_type, target.space) != like:
            return False
        outs = len(made.kind.OUTS)
        return all(
            view is None
            or view.base is not target.base
            or (at >= outs and view.same_elements(target))
            for at, view in enumerate(made.views[1:], 1)
        )

    def forward(self) -> None:
        """The kernel has ended: values that only their copy reads are not made."""
        copies, self._copies = self._copies, []
        for each in copies:
            uses = [use.operation for use in each.tile.value.uses]
            only = len(uses) == 2 and set(uses) == {each.made.operation, each.copy}
            if only and each.tile not in self._held and self._written_at_once(each):
                continue
            super()._check(each.copy)

    def _written_at_once(self, each: _Copy) -> bool:
        """Replaces an instruction and the copy of its result; False where refused."""
        made, block = each.made, each.copy.parent
        assert block is not None
        try:
            with self.again_in(block):
                super().emit(
                    made.kind,
                    [each.target, *made.views[1:]],
                    made.properties,
                    mask=made.mask,
                    name=made.name,
                    location=made.location,
                    before=each.copy,
                )
                assert self.last is not None
                again = self.last.operation
        except NKIError:  # it cannot write there: the copy stays
            stray = each.copy.prev_op
            if stray is not None and stray is not made.operation:
                discard(stray)
            return False
        for key in ("inst_name", "after"):
            if key in made.operation.properties:
                again.properties[key] = made.operation.properties[key]
        self._renamed[_name(each.copy)] = made.name
        allocation = each.tile.value.owner
        assert isinstance(allocation, Operation)
        for operation in (each.copy, made.operation, allocation):
            discard(operation)
        each.tile.block = Block()  # nothing can use it any more
        return True

    def hold_tile(self, tile: Buffer) -> None:
        """An instruction to come uses a tile; what is in front of it stays there."""
        self._held.add(tile)
        if self._copies and self._copies[-1].copy is self.block.last_op:
            super()._check(self._copies.pop().copy)

    def finish(self, outputs: Sequence[tuple[str, Buffer]]) -> ModuleOp:
        """Ends the function; who waits for a copy waits for what does its work."""
        self.forward()
        if self._renamed:
            rename(self.function, self._renamed)
        return super().finish(outputs)


def _writes_left_out(instruction: Instruction) -> bool:
    """Whether a fold of nothing is written where the mask leaves out the result."""
    if not isinstance(instruction, penguin.TensorReduceOp):
        return False
    kept = set(instruction.lane_dims(instruction.data())[instruction.OUTS[0]])
    return any(
        predicate.lanes <= kept and not bounds_one_lane(predicate)
        for predicate in instruction.masks()
    )


def _name(instruction: Instruction) -> str:
    given = instruction.properties["inst_name"]
    assert isinstance(given, StringAttr)
    return given.data
