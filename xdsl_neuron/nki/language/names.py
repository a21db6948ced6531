"""The names of `nl` that are values: element types, operations, regions, sizes."""

from typing import Any, Final

from xdsl_neuron.dtypes import DType
from xdsl_neuron.nki.dtype import NAMED
from xdsl_neuron.nki.enums import MemoryRegion
from xdsl_neuron.nki.ops import OPS
from xdsl_neuron.nki.trace import session


class _TileSize:
    """`nl.tile_size`: sizes of the hardware (penguin.md 2.4), some per generation."""

    pmax = 128
    psum_fmax = 512
    gemm_stationary_fmax = 128
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1

    @property
    def gemm_moving_fmax(self) -> int:
        """512 in every release's constants, also where trn3 takes more."""
        return 512

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes a kernel can allocate in a partition on the trace's generation."""
        return session().arch.sbuf_usable_bytes_per_partition


tile_size: Final = _TileSize()

_DTYPES: Final = {kind.nki_name: NAMED[kind] for kind in DType} | {
    "bool_": NAMED[DType.UINT8]
}

VALUES: Final[dict[str, Any]] = {
    **_DTYPES,
    **OPS,
    **{region.name: region for region in MemoryRegion},
    "tile_size": tile_size,
}
"""What `nl.<name>` is, for names that are not functions."""


def look_up(module: str, name: str) -> Any:
    """The value `nl.<name>`, for a module's `__getattr__`."""
    try:
        return VALUES[name]
    except KeyError:
        raise AttributeError(f"module '{module}' has no attribute '{name}'") from None
