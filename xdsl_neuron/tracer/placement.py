"""Views and masks of a trace in an instruction's own terms: operands and lanes."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.ir import Attribute

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import Access, AffineAttr
from xdsl_neuron.geometry.affine import Affine, Atom, Lane
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.views import View


def check_indexed(kind: type[Instruction], position: int, view: View) -> None:
    """Rows are picked only where the instruction has an index for them."""
    name = (*kind.OUTS, *kind.INS)[position]
    names = kind.layout().names
    if name == getattr(kind, "INDEXED", "src") and "index" in names:
        return
    if f"{name}_index" in names and not issubclass(kind, TensorIndirect):
        return
    raise NKISyntaxError(
        "cannot use indirect indexing access with the current NKI API for "
        f"'{view.name}': '{kind.name}' has no index for '{name}'; copy the rows to a "
        "tile with a DMA first"
    )


@lru_cache(maxsize=4096)
def _renumber(expression: Affine, places: tuple[tuple[int, int], ...]) -> Affine:
    return expression.with_indices({old: Affine.index(new) for old, new in places})


def renumbered(expression: Affine, places: Mapping[int, int]) -> Affine:
    """The expression with loop numbers of the trace replaced by operand positions."""
    if not expression.positions:
        return expression
    return _renumber(expression, tuple(places.items()))


def moved(access: Access | None, places: Mapping[int, int]) -> Access | None:
    """The access with loop numbers of the trace replaced by operand positions."""
    if access is None or not access.positions:
        return access
    partition = access.partition
    return Access(
        renumbered(access.offset, places),
        access.pairs,
        None if partition is None else renumbered(partition, places),
        access.dtype,
    )


def numbers_in(
    accesses: Sequence[Access | None], properties: Mapping[str, Attribute]
) -> tuple[int, ...]:
    """The loops that occur in accesses and affine properties, outermost first."""
    found: set[int] = set()
    for access in accesses:
        if access is None:
            continue
        if access.offset.terms:
            found |= access.offset.positions
        if access.partition is not None and access.partition.terms:
            found |= access.partition.positions
    for value in properties.values():
        if isinstance(value, AffineAttr):
            found |= value.data.positions
    return tuple(sorted(found)) if found else ()


def to_lanes(predicate: Affine, lanes: Sequence[int]) -> Affine:
    """A predicate over an operand's dimensions, over the instruction's lanes."""

    def rename(atom: Atom) -> Affine | None:
        return Affine.lane(lanes[atom.dim]) if isinstance(atom, Lane) else None

    if any(lanes[lane] < 0 for lane in predicate.lanes):
        raise NKISyntaxError(
            f"mask {predicate} on a dimension that the instruction does not run along"
        )
    return predicate.substitute(rename)
