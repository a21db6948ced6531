"""The names of `nl` that are values: element types, operations, regions, sizes."""

from typing import Any, Final

from xdsl_neuron.arch import TRN1, Arch
from xdsl_neuron.dtypes import DType
from xdsl_neuron.nki.absent import absent
from xdsl_neuron.nki.dtype import BOOL, NAMED, FloatLimits
from xdsl_neuron.nki.enums import MemoryRegion
from xdsl_neuron.nki.generations import ELSEWHERE
from xdsl_neuron.nki.ops import OPS
from xdsl_neuron.nki.trace import session


class _TileSize:
    """`nl.tile_size`: sizes of the hardware (penguin.md 2.4), some per generation."""

    pmax = Arch.sbuf_partitions
    psum_fmax = psum_bank_fmax = Arch.psum_bank_bytes // DType.FLOAT32.bytes
    psum_bank_fmax_bytes = Arch.psum_bank_bytes
    psum_num_banks = Arch.psum_banks
    gemm_stationary_fmax = Arch.max_stationary_free
    bn_stats_fmax = Arch.bn_stats_max_free
    psum_min_align = Arch.psum_align_bytes
    sbuf_min_align = Arch.sbuf_align_bytes
    # In every release's constants the one of trn1, also where trn3 takes more.
    gemm_moving_fmax = TRN1.max_moving_free

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes a kernel can allocate in a partition on the trace's generation."""
        return session().arch.sbuf_usable_bytes_per_partition

    sbuf_fmax_bytes = total_available_sbuf_size

    @property
    def sbuf_fmax(self) -> int:
        """The same in elements of fp32."""
        return self.total_available_sbuf_size // DType.FLOAT32.bytes

    @property
    def sbuf_size_bytes(self) -> int:
        """Bytes of SBUF, all partitions together."""
        arch = session().arch
        return arch.sbuf_partitions * arch.sbuf_bytes_per_partition


tile_size: Final = _TileSize()

_DTYPES: Final = {kind.nki_name: NAMED[kind] for kind in DType} | {"bool_": BOOL}

VALUES: Final[dict[str, Any]] = {
    **_DTYPES,
    **OPS,
    **{region.name: region for region in MemoryRegion},
    "tile_size": tile_size,
    "fp32": FloatLimits(DType.FLOAT32),
    "range": range,  # kernels of 0.2 and later have it, no document
}
"""What `nl.<name>` is, for names that are not functions."""


def look_up(module: str, name: str) -> Any:
    """The value `nl.<name>`, for a module's `__getattr__`."""
    if module in ELSEWHERE and name in ELSEWHERE[module]:
        absent(module, name)
    found = VALUES.get(name)
    return absent(module, name) if found is None else found
