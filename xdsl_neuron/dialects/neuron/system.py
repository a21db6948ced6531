"""Attributes of control, synchronisation, collectives and kernels."""

from collections.abc import Callable

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition

from xdsl_neuron import system
from xdsl_neuron.dialects.neuron.attributes import (
    Expressions,
    IndexName,
    TextAttribute,
    position_name,
)
from xdsl_neuron.dialects.neuron.text import Cursor, symbol_text
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.system import UpdateMode, WaitMode


@irdl_attr_definition
class BranchCompareOpAttr(
    EnumAttribute[system.BranchCompareOp], SpacedOpaqueSyntaxAttribute
):
    """What a branch tests."""

    name = "neuron.branch_compare"


@irdl_attr_definition
class BranchOutcomeHintAttr(
    EnumAttribute[system.BranchOutcomeHint], SpacedOpaqueSyntaxAttribute
):
    """Which way a branch usually goes."""

    name = "neuron.branch_hint"


@irdl_attr_definition
class SemaphoreClearModeAttr(
    EnumAttribute[system.SemaphoreClearMode], SpacedOpaqueSyntaxAttribute
):
    """How a group of semaphores is given."""

    name = "neuron.semaphore_clear"


@irdl_attr_definition
class QueueTypeAttr(EnumAttribute[system.QueueType], SpacedOpaqueSyntaxAttribute):
    """What a DMA queue carries."""

    name = "neuron.queue_type"


@irdl_attr_definition
class CollectiveKindAttr(
    EnumAttribute[system.CollectiveKind], SpacedOpaqueSyntaxAttribute
):
    """What a collective does."""

    name = "neuron.collective"


@irdl_attr_definition
class CollectiveDimensionAttr(
    EnumAttribute[system.CollectiveDimension], SpacedOpaqueSyntaxAttribute
):
    """The dimension of a collective."""

    name = "neuron.collective_dim"


@irdl_attr_definition
class CollectiveTypeHintAttr(
    EnumAttribute[system.CollectiveTypeHint], SpacedOpaqueSyntaxAttribute
):
    """What a collective is part of."""

    name = "neuron.collective_hint"


@irdl_attr_definition
class UniqueTensorsAttr(
    EnumAttribute[system.UniqueTensors], SpacedOpaqueSyntaxAttribute
):
    """Whether a collective's tensors are its own."""

    name = "neuron.unique_tensors"


@irdl_attr_definition
class TensorCompletionModeAttr(
    EnumAttribute[system.TensorCompletionMode], SpacedOpaqueSyntaxAttribute
):
    """What a completed tensor is announced for."""

    name = "neuron.tensor_completion"


@irdl_attr_definition
class SyncTypeAttr(EnumAttribute[system.SyncType], SpacedOpaqueSyntaxAttribute):
    """Where an opaque instruction synchronises."""

    name = "neuron.sync_type"


@irdl_attr_definition
class DebugBufferAttr(EnumAttribute[system.DebugBuffer], SpacedOpaqueSyntaxAttribute):
    """Where a device print goes."""

    name = "neuron.debug_buffer"


@irdl_attr_definition
class KernelSourceAttr(EnumAttribute[system.KernelSource], SpacedOpaqueSyntaxAttribute):
    """Which front end a kernel is from."""

    name = "neuron.kernel_source"


@irdl_attr_definition
class AddressRotationScopeAttr(
    EnumAttribute[system.AddressRotationScope], SpacedOpaqueSyntaxAttribute
):
    """Where buffers rotate."""

    name = "neuron.address_rotation"


@irdl_attr_definition
class WaitsAttr(Expressions[tuple[tuple[WaitMode, str, Affine], ...]]):
    """
    `#neuron.waits<[SEM_GE_IMM @s 4, EVENT_SET_THEN_CLEAR @e]>`.

    Mode, semaphore or event, and the threshold: an immediate, or a register where the
    mode compares with one. An event has none (0).
    """

    name = "neuron.waits"

    def mapped(self, change: Callable[[Affine], Affine]) -> "WaitsAttr":
        """Each threshold changed."""
        return WaitsAttr(
            tuple((mode, name, change(value)) for mode, name, value in self.data)
        )

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[tuple[WaitMode, str, Affine], ...]:
        """Reads the list."""
        found: list[tuple[WaitMode, str, Affine]] = []
        cursor.expect("[")
        while not cursor.accept("]"):
            if found:
                cursor.expect(",")
            mode = cursor.enum(WaitMode)
            name = cursor.symbol()
            event = mode is WaitMode.EVENT_SET_THEN_CLEAR
            found.append((mode, name, Affine(0) if event else cursor.affine()))
        return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The list."""
        items: list[str] = []
        for mode, name, threshold in self.data:
            event = mode is WaitMode.EVENT_SET_THEN_CLEAR
            value = "" if event else f" {threshold.render(index_name)}"
            items.append(f"{mode} {symbol_text(name)}{value}")
        return f"[{', '.join(items)}]"


_WITHOUT_VALUE = (UpdateMode.EVENT_SET, UpdateMode.SEM_INC, UpdateMode.SEM_DEC)


@irdl_attr_definition
class UpdatesAttr(TextAttribute[tuple[tuple[UpdateMode, str, int], ...]]):
    """
    `#neuron.updates<[SEM_ADD_IMM @s 4, SEM_INC @s]>`.

    Mode, semaphore or event, and the value: 1 where the mode has none.
    """

    name = "neuron.updates"

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[tuple[UpdateMode, str, int], ...]:
        """Reads the list."""
        found: list[tuple[UpdateMode, str, int]] = []
        cursor.expect("[")
        while not cursor.accept("]"):
            if found:
                cursor.expect(",")
            mode = cursor.enum(UpdateMode)
            name = cursor.symbol()
            silent = mode in _WITHOUT_VALUE and (cursor.peek(",") or cursor.peek("]"))
            found.append((mode, name, 1 if silent else cursor.integer()))
        return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The list."""
        items = [
            f"{mode} {symbol_text(name)}"
            + ("" if mode in _WITHOUT_VALUE and value == 1 else f" {value}")
            for mode, name, value in self.data
        ]
        return f"[{', '.join(items)}]"


@irdl_attr_definition
class GroupsAttr(TextAttribute[tuple[tuple[int, ...], ...]]):
    """`#neuron.groups<[[0, 1], [2, 3]]>`: lists of ranks."""

    name = "neuron.groups"

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[tuple[int, ...], ...]:
        """Reads the lists."""
        found: list[tuple[int, ...]] = []
        cursor.expect("[")
        while not cursor.accept("]"):
            if found:
                cursor.expect(",")
            cursor.expect("[")
            group: list[int] = []
            while not cursor.accept("]"):
                if group:
                    cursor.expect(",")
                group.append(cursor.integer())
            found.append(tuple(group))
        return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The lists."""
        return f"[{', '.join(str(list(group)) for group in self.data)}]"


SYSTEM_ATTRIBUTES = (
    AddressRotationScopeAttr,
    BranchCompareOpAttr,
    BranchOutcomeHintAttr,
    CollectiveDimensionAttr,
    CollectiveKindAttr,
    CollectiveTypeHintAttr,
    DebugBufferAttr,
    GroupsAttr,
    KernelSourceAttr,
    QueueTypeAttr,
    SemaphoreClearModeAttr,
    SyncTypeAttr,
    TensorCompletionModeAttr,
    UniqueTensorsAttr,
    UpdatesAttr,
    WaitsAttr,
)
