"""The rule for one tensor's size, shared by everything that makes a buffer."""

from abc import abstractmethod

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import gate, gates_of
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.isa import Space


class Sized(IRDLOperation):
    """An operation whose result is a buffer of its own."""

    @property
    @abstractmethod
    def tensor(self) -> TensorType:
        """The buffer's type."""

    @gate("SB tensor overflow: ... | PSUM tensor overflow: ...", "penguin.md 4.1")
    def capacity(self) -> None:
        """One tensor fits a partition of its memory on the module's target."""
        check_capacity(self, self.tensor)

    def check_gates(self) -> None:
        """Checks every gate of the class; the tracer calls this on insertion."""
        for found in gates_of(type(self)):
            getattr(self, found.name)()


def usable_bytes(space: Space, arch: Arch) -> int:
    """What tensors may take of a partition of SBUF or PSUM, in bytes."""
    if space is Space.SBUF:
        return arch.sbuf_usable_bytes_per_partition
    return arch.psum_bytes_per_partition


def check_capacity(operation: Operation, kind: TensorType) -> None:
    """
    A tensor's bytes in a partition are within what a kernel may use.

    SBUF: the partition less what is reserved; PSUM: all banks (nki.md 4.1). Without a
    target nothing is known. The sum over live tensors is allocation's to check.
    """
    space = kind.space
    if not space.on_chip:
        return
    arch = target_of(operation)
    if arch is None:
        return
    size, usable = kind.data.bytes_per_partition, usable_bytes(space, arch)
    if size > usable:
        name = "SB" if space is Space.SBUF else "PSUM"
        raise VerifyException(
            f"{name} tensor overflow: a tensor of shape {kind.shape} and type "
            f"{kind.dtype.nki_name} needs {size} bytes in a partition, {arch.name} has "
            f"{usable}; use smaller tiles"
        )
