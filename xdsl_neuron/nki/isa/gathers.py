"""Gathers and the partition shuffle (nki.md 1.1)."""

from typing import Any

from xdsl_neuron.nki.arguments import as_integer, as_integers, as_name, as_view
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.trace import session


@instruction
def nc_stream_shuffle(
    dst: Any, src: Any, shuffle_mask: Any, name: str | None = None
) -> None:
    """`dst[b + i] = src[b + shuffle_mask[i]]` in every block of 32; 255 keeps `dst`."""
    session().stream_shuffle(
        as_view(src, "src"),
        as_view(dst, "dst"),
        as_integers(shuffle_mask, "shuffle_mask"),
        name=as_name(name),
    )


@instruction
def local_gather(
    dst: Any,
    src_buffer: Any,
    index: Any,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    name: str | None = None,
) -> None:
    """Each GpSIMD core gathers runs of elements within its 16 partitions."""
    valid = num_valid_indices
    session().local_gather(
        as_view(src_buffer, "src_buffer"),
        as_view(index, "index"),
        as_integer(num_elem_per_idx, "num_elem_per_idx"),
        None if valid is None else as_integer(valid, "num_valid_indices"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def nc_n_gather(dst: Any, data: Any, indices: Any, name: str | None = None) -> None:
    """`dst[p, i] = data[p, flattened][indices[p, i]]`."""
    session().gather_flattened(
        as_view(data, "data"),
        as_view(indices, "indices"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )
