"""The rule for one tensor's size, shared by everything that makes a buffer."""

from abc import abstractmethod
from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import gate, gates_of
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.isa import Space


class Sized(IRDLOperation):
    """
    An operation whose result is a buffer of its own.

    `blocks` is the number of tiles a tensor with block dimensions stands for. Each has
    a lifetime of its own, so that not all of them need a place at one time.
    """

    blocks = opt_prop_def(IntegerAttr)

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
        count, tensor = self.block_count, self.tensor
        if count == 1 and self.blocks is None:
            return
        if not tensor.space.on_chip:
            raise VerifyException("only a tensor on chip has blocks, got one in hbm")
        free = prod(tensor.shape[1:])
        if count < 1 or free % count:
            raise VerifyException(
                f"{count} blocks do not divide the {free} elements that "
                f"{tensor.shape} has in a partition"
            )

    @property
    def block_count(self) -> int:
        """`blocks` as an integer, 1 where it is absent."""
        return 1 if self.blocks is None else self.blocks.value.data

    def check_gates(self) -> None:
        """Checks every gate of the class; the tracer calls this on insertion."""
        for found in gates_of(type(self)):
            getattr(self, found.name)()


def usable_bytes(space: Space, arch: Arch) -> int:
    """What tensors may take of a partition of SBUF or PSUM, in bytes."""
    if space is Space.SBUF:
        return arch.sbuf_usable_bytes_per_partition
    return arch.psum_bytes_per_partition


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
    size = kind.data.bytes_per_partition // max(blocks, 1)
    usable = usable_bytes(space, arch)
    if size > usable:
        name = "SB" if space is Space.SBUF else "PSUM"
        what = "a tensor" if blocks <= 1 else f"each of {blocks} blocks of a tensor"
        raise VerifyException(
            f"{name} tensor overflow: {what} of shape {kind.shape} and type "
            f"{kind.dtype.nki_name} needs {size} bytes in a partition, {arch.name} has "
            f"{usable}; use smaller tiles"
        )
