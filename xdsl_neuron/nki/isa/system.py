"""Cores that wait for each other and exchange tiles (nki.md 1.1)."""

from typing import Any

from xdsl_neuron.isa import Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_integer, as_integers, as_name, as_view
from xdsl_neuron.nki.cores import Meeting
from xdsl_neuron.nki.enums import as_dma_engine, as_engine, dma_engine, engine
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError

_GPSIMD_BYTES = {4: 1024, 2: 512, 1: 256}
"""Bytes per partition of an exchange by GpSIMD, by bytes of an element."""


@api
def core_barrier(
    data: Any, cores: Any, engine: Any = engine.gpsimd, name: str | None = None
) -> None:
    """
    Waits until all `cores` are here; `data` is the HBM tensor they share.

    Public kernels give a tile of their own too, where there is nothing else to name.

    `engine` runs the barrier on the device; program order keeps it here.
    """
    shared = as_view(data, "data")
    as_engine(engine)
    trace = session()
    if shared.space is Space.HBM and shared.base not in trace.shared:
        raise NKISyntaxError(
            f"core_barrier: `data` must be a tensor in shared HBM, got {shared!r}, of "
            "which each core has its own; make it with buffer=nl.shared_hbm"
        )
    numbers = as_integers(cores, "cores")
    count = _cores("core_barrier")
    if sorted(numbers) != list(range(count)):
        raise NKIValueError(
            f"core_barrier: `cores` must name all {count} cores of the launch, got "
            f"{tuple(numbers)}"
        )
    trace.meet(
        Meeting(
            f"core_barrier{tuple(sorted(numbers))}",
            trace.locator.here(),
            shared=shared,
            name=as_name(name),
        )
    )


@api
def sendrecv(
    src: Any,
    dst: Any,
    send_to_rank: Any,
    recv_from_rank: Any,
    pipe_id: Any,
    dma_engine: Any = dma_engine.dma,
    name: str | None = None,
) -> None:
    """
    Sends `src` to one core and gets `dst` from one, both tiles in SBUF.

    Exchanges of all cores with one `pipe_id` belong together. In IR they are the copies
    they come to.
    """
    given, taken = as_view(src, "src"), as_view(dst, "dst")
    for view, what in ((given, "src"), (taken, "dst")):
        if view.space is not Space.SBUF:
            raise NKISyntaxError(
                f"sendrecv: `{what}` must be a tile in sbuf, got {view!r}"
            )
    if given.element_type is not taken.element_type or given.shape != taken.shape:
        raise NKIValueError(
            "sendrecv: `src` and `dst` must have the same shape and type, got "
            f"{given!r} and {taken!r}"
        )
    count = _cores("sendrecv")
    peers = (
        as_integer(send_to_rank, "send_to_rank"),
        as_integer(recv_from_rank, "recv_from_rank"),
    )
    if any(not 0 <= peer < count for peer in peers):
        raise NKIValueError(
            f"sendrecv: ranks must be below {count}, got send_to_rank={peers[0]} and "
            f"recv_from_rank={peers[1]}"
        )
    pipe = as_integer(pipe_id, "pipe_id")
    trace = session()
    if as_dma_engine(dma_engine).name == "gpsimd_dma":
        size = given.element_type.bytes
        bytes_each = given.size // given.shape[0] * size
        if bytes_each > _GPSIMD_BYTES.get(size, 0):
            raise NKIValueError(
                f"sendrecv: gpsimd_dma moves up to {_GPSIMD_BYTES.get(size, 0)} bytes "
                f"per partition of a {8 * size}-bit type, got {bytes_each} ({given!r})"
            )
    trace.meet(
        Meeting(
            f"sendrecv(pipe_id={pipe})",
            trace.locator.here(),
            src=given,
            dst=taken,
            target=peers[0],
            source=peers[1],
            name=as_name(name),
        )
    )


@api
def get_nc_sub_version() -> int:
    """The revision of the silicon within its generation: the first one, 0."""
    session()
    return 0


def _cores(what: str) -> int:
    """The programs of the launch, of which each has a core."""
    trace = session()
    count = 1
    for extent in trace.grid:
        count *= int(extent)
    if count < 2:
        raise NKISyntaxError(
            f"{what} is between cores, but the kernel is launched on one; launch it as "
            "kernel[2](...), or guard the call by nl.num_programs() > 1"
        )
    if trace.arch.level <= 20:
        raise NKISyntaxError(
            f"{what} needs NeuronCore-v3 or newer, {trace.arch.name} is older"
        )
    return count
