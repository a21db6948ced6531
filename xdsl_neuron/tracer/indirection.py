"""Views whose columns are picked by offsets, as operands with an index (trn3)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.dma import DmaInstruction
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.views import View


def with_indices(
    kind: type[Instruction],
    views: Sequence[View | None],
    properties: dict[str, Attribute],
) -> tuple[Sequence[View | None], dict[str, Attribute]]:
    """
    The operands of an instruction with the indices of those that have one.

    `views` are in the order of the class's operands, the last ones may be missing.
    """
    if all(view is None or view.layout.columns is None for view in views):
        return views, properties
    names = kind.layout().names
    found: list[View | None] = [*views, *(None,) * (len(names) - len(views))]
    properties = dict(properties)
    for name, view in zip(names, views, strict=False):
        columns = None if view is None else view.layout.columns
        if view is None or columns is None:
            continue
        owner = _owner(kind, name, view)
        place = names.index(f"{owner}_index")
        if found[place] is not None and found[place] is not columns.index:
            _check_same(kind, name, owner, found[place], columns.index)
        found[place] = columns.index
        count = IntegerAttr(view.shape[1], i64)
        given = properties.setdefault(f"{owner}_num_indices", count)
        if given != count:
            raise NKISyntaxError(
                f"'{name}' and '{owner}' of '{kind.name}' pick different numbers of "
                "columns; both take the same index"
            )
    if issubclass(kind, TensorIndirect):
        _check_shared(kind, names, found)
    return found, properties


def _owner(kind: type[Instruction], name: str, view: View) -> str:
    """Whose index an operand takes; refuses operands that take none."""
    written = name in kind.OUTS
    if issubclass(kind, DmaInstruction):
        on_chip = "scatter on chip" if written else "gather on chip"
        when = "behind it" if written else "first"
        raise NKISyntaxError(
            f"DMA Instruction cannot have TensorIndirect AP, got '{name}' picked from "
            f"'{view.name}'; use vector_offset of tensor.ap(...), or {on_chip} with "
            f"nisa.tensor_copy {when}"
        )
    allowed = kind.INDIRECT if issubclass(kind, TensorIndirect) else {}
    if name in allowed:
        return allowed[name]
    legal = ", ".join(f"'{each}'" for each in allowed)
    instead = f"copy the columns of '{view.name}' to a tile with nisa.tensor_copy first"
    if written:
        instead = f"write a tile, and scatter it into '{view.name}' with tensor_copy"
    raise NKISyntaxError(
        f"'{name}' of '{kind.name}' does not support tensor indirection"
        + (f", only {legal}" if legal else "")
        + f"; {instead}"
    )


def _check_same(
    kind: type[Instruction], name: str, owner: str, first: View | None, second: View
) -> None:
    if first is None or not first.same_elements(second):
        raise NKISyntaxError(
            f"'{name}' and '{owner}' of '{kind.name}' must use .indirect() with the "
            "same index"
        )


def _check_shared(
    kind: type[TensorIndirect], names: Sequence[str], views: Sequence[View | None]
) -> None:
    """Operands that share an index have it all, or none of them."""
    given = dict(zip(names, views, strict=True))
    for name, owner in kind.INDIRECT.items():
        view = given.get(name)
        if view is None or given.get(f"{owner}_index") is None:
            continue
        if view.layout.columns is None:
            raise NKISyntaxError(
                f"'{name}' and the operand beside it in '{kind.name}' must agree on "
                "tensor indirection: either both use .indirect() with the same index, "
                "or neither does"
            )
