"""
Block dimensions of on-chip tensors (penguin.md 4.1 `block_shape`, nki.md 1.2).

`nl.ndarray((4, nl.par_dim(128), 512))` is four tiles. They share a name; where each one
is placed, and how many of them exist at a time, is the allocation's choice. So what
must fit into a partition is one block, and an access may only run over several of them
where all of them fit, one after another.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import Space

if TYPE_CHECKING:
    from xdsl_neuron.dialects.operand import Operand


def usable_bytes(space: Space, arch: Arch) -> int:
    """
    Bytes of a partition that tensors may use.

    SBUF: the partition less what is reserved; PSUM: all banks (nki.md 4.1).
    """
    if space is Space.SBUF:
        return arch.sbuf_usable_bytes_per_partition
    return arch.psum_bytes_per_partition


def block_count(value: SSAValue) -> int:
    """How many tiles a tensor stands for; 1 where it has no block dimensions."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return 1
    return count_of(owner.properties.get("blocks"))


def count_of(blocks: Attribute | None) -> int:
    """`blocks` as a number, 1 where it is absent or below (a gate refuses those)."""
    return max(blocks.value.data, 1) if isinstance(blocks, IntegerAttr) else 1


def block_elements(kind: TensorType, blocks: int) -> int:
    """Elements of a partition in one tile."""
    return kind.data.pitch // blocks


def check_one_block(
    operand: "Operand", arch: Arch, indices: Sequence[tuple[int, int] | None]
) -> None:
    """
    An access to tiles that do not fit together reaches one of them.

    `indices` are the ends of each loop index, None where they are not known.
    """
    kind = operand.type
    blocks = block_count(operand.value)
    fits = kind.data.bytes_per_partition <= usable_bytes(kind.space, arch)
    if blocks == 1 or fits:
        return
    size = block_elements(kind, blocks) * kind.dtype.bytes // operand.dtype.bytes
    start = within_block(operand.access.offset, size)
    known = [bounds or (0, 0) for bounds in indices]
    if all(indices[position] is not None for position in start.positions):
        pairs = operand.access.pairs[1:]
        if all(Pattern(at, pairs).within(size) for at in start.bounds(known)):
            return
    raise VerifyException(
        f"access to '{operand.name}' ({operand}) does not reach one block of {size} "
        f"elements: a tensor of {blocks} blocks that does not fit into {kind.space} as "
        "a whole has its block dimensions indexed with loop indices or integers"
    )


def within_block(offset: Affine, size: int) -> Affine:
    """The offset from the start of the block that it is in, where that is plain."""
    if size <= 0:  # blocks that do not divide the tensor: its own gate says so
        return offset
    terms = [(atom, factor) for atom, factor in offset.terms if factor % size]
    return Affine(offset.constant % size, terms)
