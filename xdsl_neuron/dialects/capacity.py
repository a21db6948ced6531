"""The rule for one tensor's size, shared by everything that makes a buffer."""

from abc import abstractmethod
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.blocks import count_of, usable_bytes
from xdsl_neuron.dialects.gate import check_gates, gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.neuron import PARTITIONS, TensorType
from xdsl_neuron.dialects.neuron.text import Cursor
from xdsl_neuron.isa import Space


class Sized(IRDLOperation):
    """
    An operation whose result is a buffer of its own.

    `blocks` is the number of tiles a tensor with block dimensions stands for. Each has
    a lifetime of its own, so that not all of them need a place at one time.
    `addresses` is where each tile is, if the kernel says so: the partition and the byte
    in the partition of its first element, tile after tile.
    """

    blocks = opt_prop_def(IntegerAttr)
    addresses = opt_prop_def(DenseArrayBase.constr(i64))

    @property
    @abstractmethod
    def tensor(self) -> TensorType:
        """The buffer's type."""

    @gate("SB tensor overflow: ... | PSUM tensor overflow: ...", "penguin.md 4.1")
    def capacity(self) -> None:
        """One tile fits a partition of its memory on the module's target."""
        check_capacity(self, self.tensor, self.block_count)

    @gate("(blocks, par_dim(128), F)", "nki.md 2 block dimensions", "our choice")
    def whole_blocks(self) -> None:
        """A tensor on chip is made of whole tiles."""
        tensor = self.tensor
        if self.blocks is None:
            return
        count = self.blocks.value.data
        if not tensor.space.on_chip:
            raise VerifyException("only a tensor on chip has blocks, got one in hbm")
        free = prod(tensor.shape[1:])
        if count < 1 or free % count:
            raise VerifyException(
                f"{count} blocks do not divide the {free} elements that "
                f"{tensor.shape} has in a partition"
            )

    @gate("address=(partition, byte)", "nki.md 1.2, penguin.md 4.5")
    def placed(self) -> None:
        """Each tile that has an address lies in its memory, in one bank of PSUM."""
        if self.addresses is None:
            return
        check_placements(self, self.tensor, self.block_count, self.addresses)

    @gate(
        "Access must be aligned to datatype, {mem_type} start address {start_addr} for "
        "memory location {mem} must be {dtype_size} bytes aligned for data type "
        "{dtype}.",
        "dma.md 9.4 BIR429",
    )
    def aligned(self) -> None:
        """Elements of a tile that has an address are aligned."""
        dtype, space = self.tensor.data.dtype, self.tensor.space
        for _, byte in self.placements:
            if byte % dtype.bytes:
                raise VerifyException(
                    f"Access must be aligned to datatype, {space} start address {byte} "
                    f"for memory location {self.results[0].name_hint or space} must be "
                    f"{dtype.bytes} bytes aligned for data type {dtype.bir_name}."
                )

    @property
    def placements(self) -> list[tuple[int, int]]:
        """Partition and byte of each tile; none where allocation decides."""
        if self.addresses is None:
            return []
        values = self.addresses.get_values()
        return list(zip(values[::2], values[1::2], strict=True))

    @property
    def block_count(self) -> int:
        """`blocks` as an integer, 1 where it is absent."""
        return count_of(self.blocks)

    def check_gates(self) -> None:
        """Checks every gate of the class; the tracer calls this on insertion."""
        check_gates(self)


def scan_storage(cursor: Cursor) -> dict[str, Attribute]:
    """Reads `[blocks n] [at [(partition, byte), ...]]`."""
    found: dict[str, Attribute] = {}
    if cursor.keyword("blocks"):
        found["blocks"] = IntegerAttr(cursor.integer(), i64)
    if cursor.keyword("at"):
        cursor.expect("[")
        values: list[int] = []
        while not cursor.accept("]"):
            if values:
                cursor.expect(",")
            cursor.expect("(")
            values.append(cursor.integer())
            cursor.expect(",")
            values.append(cursor.integer())
            cursor.expect(")")
        if not values:
            cursor.fail("expected the addresses of blocks")
        found["addresses"] = placements_attribute(values)
    return found


def placements_attribute(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """Partition and byte of each block, one after another, as a property."""
    return DenseArrayBase.from_list(i64, list(values))


def render_storage(operation: Sized) -> str:
    """The text `scan_storage` reads."""
    blocks = operation.blocks
    text = "" if blocks is None else f" blocks {blocks.value.data}"
    if operation.addresses is not None:
        pairs = ", ".join(f"({row}, {byte})" for row, byte in operation.placements)
        text += f" at [{pairs}]"
    return text


def check_placements(
    operation: Operation,
    kind: TensorType,
    blocks: int,
    addresses: DenseArrayBase[IntegerType],
) -> None:
    """
    The addresses of a tensor's blocks are legal.

    Whether they are shared with another tensor in use is the kernel's to see to: that
    is what it gives addresses for (nki.md 1.3 direct allocation).
    """
    values, shape, space = addresses.get_values(), kind.shape, kind.space
    if not space.on_chip or len(values) != 2 * blocks:
        raise VerifyException(
            f"{len(values) // 2} addresses of a tensor of shape {shape} in {space}: a "
            f"tensor on chip has one for each of its blocks ({blocks})"
        )
    arch = target_of(operation)
    size = kind.data.bytes_per_partition // blocks
    for row, byte in zip(values[::2], values[1::2], strict=True):
        if row < 0 or row + shape[0] > PARTITIONS:
            raise VerifyException(
                f"address ({row}, {byte}): {shape[0]} partitions from {row} on exceed "
                f"the {PARTITIONS} there are"
            )
        if arch is None:
            continue
        if byte < 0 or byte + size > usable_bytes(space, arch):
            raise VerifyException(
                f"address ({row}, {byte}): {size} bytes from {byte} on exceed the "
                f"{usable_bytes(space, arch)} of a partition of {space}"
            )
        if space is not Space.PSUM:
            continue
        if byte % arch.psum_align_bytes:
            raise VerifyException(
                f"address ({row}, {byte}): an address in psum is a multiple of "
                f"{arch.psum_align_bytes} bytes"
            )
        bank = arch.psum_bank_bytes
        if size <= bank and byte // bank != (byte + size - 1) // bank:
            raise VerifyException(
                f"address ({row}, {byte}): {size} bytes from {byte} on cross a PSUM "
                f"bank of {bank} bytes"
            )


def check_capacity(operation: Operation, kind: TensorType, blocks: int = 1) -> None:
    """
    A tile's bytes in a partition are within what a kernel may use.

    `blocks` is the number of tiles that the tensor stands for.

    SBUF: the partition less what is reserved; PSUM: all banks (nki.md 4.1). Without a
    target nothing is known. The sum over live tensors is allocation's to check.
    """
    space = kind.space
    if not space.on_chip:
        return
    arch = target_of(operation)
    if arch is None:
        return
    size = kind.data.bytes_per_partition // blocks
    usable = usable_bytes(space, arch)
    if size > usable:
        name = "SB" if space is Space.SBUF else "PSUM"
        what = "a tensor" if blocks <= 1 else f"each of {blocks} blocks of a tensor"
        raise VerifyException(
            f"{name} tensor overflow: {what} of shape {kind.shape} and type "
            f"{kind.dtype.nki_name} needs {size} bytes in a partition, {arch.name} has "
            f"{usable}; use smaller tiles"
        )
