"""
Tensor operands in JSON: `physical_ap` and `symbolic_ap`.

A pattern's pairs and its offset count elements of its `dtype`. On chip they run over
partitions laid end to end: a partition is `pitch` elements, so the first pair steps by
`partitions * pitch` and the offset is `partition * pitch + element` (dma.md 2.2).
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl_neuron.dialects.neuron import Access, Pair, TensorType, whole
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine, Index
from xdsl_neuron.json.document import Json, Node
from xdsl_neuron.json.values import ReadAffine, WriteAffine, read_dtype

MAX_RANK = 64


@dataclass(frozen=True)
class Layout:
    """How an access of one tensor maps to a pattern: see the module."""

    type: TensorType
    dtype: DType
    """What an element is."""
    scale: int = 1
    """Units of the access's offset and steps in an element; bytes for descriptors."""
    is_descriptor: bool = False

    @property
    def on_chip(self) -> bool:
        """Whether there are partitions."""
        return self.type.space.on_chip

    @property
    def pitch(self) -> int:
        """Elements of one partition; 0 where they do not fill it."""
        found, rest = divmod(self.type.data.bytes_per_partition, self.dtype.bytes)
        return 0 if rest else found

    def pairs_to_json(self, access: Access) -> list[list[int]] | None:
        """The pattern; None where it does not consist of whole elements."""
        pairs: list[list[int]] = []
        for dim, (step, num) in enumerate(access.pairs):
            if dim == 0 and access.partition is not None:
                pairs.append([step * self.pitch, num])
            elif step % self.scale:
                return None
            else:
                pairs.append([step // self.scale, num])
        return pairs

    def pairs_from_json(self, node: Node) -> tuple[Pair, ...]:
        """The pairs of an access."""
        pairs: list[Pair] = []
        for item in node.array():
            numbers = item.integers()
            if len(numbers) != 2 or numbers[1] <= 0:
                item.fail(f"expected [step, num] with num > 0, got {numbers}")
            pairs.append((numbers[0] * self.scale, numbers[1]))
        if len(pairs) > MAX_RANK:
            node.fail(f"{len(pairs)} dimensions")
        if self.on_chip:
            pairs[0:1] = [self._partitions(node, pairs)]
        return tuple(pairs)

    def _partitions(self, node: Node, pairs: list[Pair]) -> Pair:
        if not pairs:
            node.fail("a pattern on chip has no partition pair")
        if not self.pitch:
            node.fail(
                f"{self.dtype.bir_name} elements do not fill the "
                f"{self.type.data.bytes_per_partition} bytes of a partition"
            )
        step, num = pairs[0][0] // self.scale, pairs[0][1]
        partitions, rest = divmod(step, self.pitch)
        if rest and num > 1:
            node.fail(
                f"partition step {step} is not a multiple of the {self.pitch} elements "
                "of a partition"
            )
        return (0 if rest else partitions, num)

    def split(self, total: Affine) -> tuple[Affine | None, Affine]:
        """The partition and the rest of an offset in elements."""
        if not self.on_chip:
            return None, total * self.scale
        partition = total.constant // self.pitch if self.pitch else 0
        rest = total - partition * self.pitch
        return Affine(partition), rest * self.scale

    def join(self, access: Access) -> Affine | None:
        """The offset in elements, None where it is not whole or not invertible."""
        numbers = (access.offset.constant, *(c for _, c in access.offset.terms))
        if any(number % self.scale for number in numbers):
            return None
        # The constant is not negative and below the pitch, so that `split` finds it.
        offset = Affine(
            access.offset.constant // self.scale,
            ((atom, c // self.scale) for atom, c in access.offset.terms),
        )
        if access.partition is None:
            return offset
        if not access.partition.is_constant:
            return None
        return offset + access.partition.constant * self.pitch


@dataclass(frozen=True)
class Reference:
    """The names of a tensor and how an instruction's indices are written."""

    memref: str
    memsetref: str
    is_register: Callable[[int], bool]
    affine: WriteAffine


def access_to_json(layout: Layout, access: Access, name: Reference) -> dict[str, Json]:
    """
    The operand of an access.

    Constant offsets and those in registers are `physical_ap`, others `symbolic_ap`.
    """
    pairs = layout.pairs_to_json(access)
    total = layout.join(access)
    shape: list[Json] = [num for _, num in access.pairs]
    found: dict[str, Json] = {
        "dtype": layout.dtype.bir_name,
        "memsetref": name.memsetref,
        "access_shape": shape,
    }
    if pairs is not None:
        found["ap"] = [[step, num] for step, num in pairs]
    if total is None or not all(
        isinstance(atom, Index) and name.is_register(atom.position)
        for atom, _ in total.terms
    ):
        start = [access.offset]
        if access.partition is not None:
            start.insert(0, access.partition)
        addrs: list[Json] = [name.affine(expression) for expression in start]
        found["kind"], found["addrs"] = "symbolic_ap", addrs
        return found
    found["kind"], found["memref"] = "physical_ap", name.memref
    found["offset"] = total.constant
    if total.terms:
        found["dynamic_ap_info"] = {
            "actual_ap": found.get("ap"),
            "c": total.constant,
            "aff_expr": [
                {
                    "coef": coefficient,
                    "offset_expr": name.affine(Affine(0, ((atom, 1),))),
                }
                for atom, coefficient in total.terms
            ],
        }
    return found


def access_from_json(layout: Layout, node: Node, affine: ReadAffine) -> Access | None:
    """
    The access of an operand; None where it covers the tensor.

    A descriptor always states its access.
    """
    pattern = node.get("ap")
    if pattern is None:
        return None
    pairs = layout.pairs_from_json(pattern)
    dtype = None
    if not layout.is_descriptor and layout.dtype is not layout.type.dtype:
        dtype = layout.dtype
    addrs = node.get("addrs")
    if addrs is not None:
        start = [affine(item) for item in addrs.array()]
        if len(start) != 1 + layout.on_chip:
            what = "a partition and an offset" if layout.on_chip else "an offset"
            addrs.fail(f"expected {what}, got {len(start)} expressions")
        partition = start[0] if layout.on_chip else None
        access = Access(start[-1], pairs, partition, dtype)
    else:
        partition, offset = layout.split(_offset(node, affine))
        access = Access(offset, pairs, partition, dtype)
    is_whole = access == whole(layout.type.shape, layout.on_chip)
    return None if is_whole and not layout.is_descriptor else access


def _offset(node: Node, affine: ReadAffine) -> Affine:
    total = Affine(node.child("offset").integer())
    dynamic = node.get("dynamic_ap_info")
    if dynamic is None:
        return total
    constant = dynamic.get("c")
    if constant is not None and constant.integer() != total.constant:
        constant.fail(f"differs from the offset, {total.constant}")
    for term in dynamic.elements("aff_expr"):
        expression = affine(term.child("offset_expr"))
        total = total + expression * term.child("coef").integer()
    return total


def exact_access_to_json(access: Access | None, affine: WriteAffine) -> Json:
    """An access as it is, for what a pattern cannot say."""
    if access is None:
        return "whole"
    found: dict[str, Json] = {
        "offset": affine(access.offset),
        "pairs": [[step, num] for step, num in access.pairs],
    }
    if access.partition is not None:
        found["partition"] = affine(access.partition)
    if access.dtype is not None:
        found["dtype"] = access.dtype.bir_name
    return found


def exact_access_from_json(node: Node, affine: ReadAffine) -> Access | None:
    """What `exact_access_to_json` wrote."""
    if node.value == "whole":
        return None
    partition, dtype = node.get("partition"), node.get("dtype")
    pairs: list[Pair] = []
    for item in node.child("pairs").array():
        numbers = item.integers()
        if len(numbers) != 2 or numbers[1] <= 0:
            item.fail(f"expected [step, num] with num > 0, got {numbers}")
        pairs.append((numbers[0], numbers[1]))
    start = None if partition is None else affine(partition)
    return Access(
        affine(node.child("offset")),
        tuple(pairs),
        start,
        None if dtype is None else read_dtype(dtype),
    )
