"""What a buffer holds while tracing: something, nothing yet, or what must stay."""

from xdsl.dialects.builtin import FileLineColLoc

from xdsl_neuron.dialects import penguin
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.layouts import Buffer


def check_mutable(buffer: Buffer) -> None:
    """A read-only parameter is not written; which are is the language's to say."""
    if buffer.immutable:
        raise NKISyntaxError(
            f"Cannot update immutable parameter `{buffer.name}`; annotate it as "
            "nt.mutable_tensor (neuronxcc.nki.typing), or store to a new tensor with "
            "buffer=nl.shared_hbm"
        )


class EarlyReads:
    """
    Finds reads of what nothing has written.

    A fresh tile holds nothing, so reading it is refused at once. A tensor in HBM may be
    another program's to write, traced later: it is looked at again in the end.
    """

    def __init__(self) -> None:
        self._in_hbm: dict[Buffer, FileLineColLoc | None] = {}

    def check(self, buffer: Buffer, location: FileLineColLoc | None) -> None:
        """An instruction at `location` reads the buffer."""
        if buffer.written or not _is_fresh(buffer):
            return
        if buffer.type.space.on_chip:
            raise NKISyntaxError(_message(buffer), location)
        self._in_hbm.setdefault(buffer, location)

    def finish(self) -> None:
        """The trace has ended."""
        for buffer, location in self._in_hbm.items():
            if not buffer.written:
                raise NKISyntaxError(_message(buffer), location)


def _is_fresh(buffer: Buffer) -> bool:
    """Whether the kernel made it, and without an initial value."""
    made = buffer.value.owner
    return isinstance(made, penguin.AllocOp) and made.init is None


def _message(buffer: Buffer) -> str:
    return (
        f"tensor '{buffer.name}' in {buffer.type.space} is read, but was never written "
        "to; a fresh tensor holds nothing: write it, or memset it, first"
    )
