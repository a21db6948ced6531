"""
The generations of the hardware: a frozen dataclass each, every number with its source.

`ARCHS` holds trn1, trn2 and trn3 in order; `get_arch` finds one by any of its names;
`Arch.table` is the reference page. Times are in ns where the documents give ns, else in
cycles of the engine concerned. Where the pages disagree, the field says what was taken;
where they are silent on trn3, trn2's number stands (our choice).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, NamedTuple

from .isa import Engine

KIB: Final = 1024
GIB: Final = 1024**3


class Fact(NamedTuple):
    """One row of the reference page: a number of every generation and its source."""

    name: str
    unit: str
    values: tuple[object, ...]
    source: str


def _from(source: str, unit: str = "") -> Mapping[str, str]:
    return {"source": source, "unit": unit}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, match_args=False)
class Arch:
    """
    A NeuronCore generation, compared by identity.

    Fields with a default are the same in all of them.
    """

    name: str = field(metadata=_from("nki.md 4.1"))
    codename: str = field(metadata=_from("bir.md 1.2"))
    level: int = field(metadata=_from("bir.md 1.2"))
    cores_per_device: int = field(metadata=_from("nki.md 4.1"))
    max_cores_per_logical_core: int = field(metadata=_from("nki.md 4.1 (LNC)"))

    # HBM. Per core, bir.md gives 24 and 36 GiB for trn2 and trn3, twice the device's
    # share (96 / 8, 144 / 8): two cores have one stack. The arch model's is taken.
    hbm_bytes_per_device: int = field(metadata=_from("nki.md 4.1", "B"))
    hbm_bytes_per_core: int = field(metadata=_from("bir.md 5", "B"))
    hbm_bytes_per_ns: int = field(metadata=_from("nki.md 4.1 (device)", "B/ns"))

    # SBUF. Total minus reserved is the usable size of nki.md 4.1.
    sbuf_bytes_per_partition: int = field(metadata=_from("bir.md 5", "B"))
    sbuf_reserved_bytes_per_partition: int = field(metadata=_from("bir.md 5", "B"))
    sbuf_partitions: int = field(default=128, metadata=_from("bir.md 5"))
    sbuf_align_bytes: int = field(default=1, metadata=_from("nki.md 4.2", "B"))
    partition_address_step: int = field(
        default=0x40000, metadata=_from("bir.md 5 (base partition << 18)", "B")
    )
    quadrant_partitions: int = field(default=32, metadata=_from("bir.md 5"))

    # Partitions that share the offsets of tensor indirection.
    indirect_partitions: int = field(
        default=16, metadata=_from("nki.md 0 (NkiTensor.indirect)")
    )
    pe_indirect_partitions: int = field(
        default=32, metadata=_from("nki.md 0 (NkiTensor.indirect)")
    )

    # Microscaling: blocks of partitions x elements share a scale.
    mx_block_partitions: int = field(default=8, metadata=_from("nki.md 5.5"))
    mx_block_elements: int = field(default=4, metadata=_from("nki.md 5.5"))

    # Sparse matmuls: of `sparse_group` rows each tag chooses one dense position.
    sparse_group: int = field(default=4, metadata=_from("bir.md 6.10"))
    sparse_tag_bits: int = field(default=4, metadata=_from("bir.md 6.10", "bit"))
    sparse_tags_per_word: int = field(default=4, metadata=_from("bir.md 6.10"))

    # PSUM.
    psum_partitions: int = field(default=128, metadata=_from("bir.md 5"))
    psum_banks: int = field(default=8, metadata=_from("bir.md 5"))
    psum_bank_bytes: int = field(
        default=2048, metadata=_from("bir.md 5", "B per partition")
    )
    psum_align_bytes: int = field(default=4, metadata=_from("nki.md 4.2", "B"))
    psum_partition_address_step: int = field(
        default=0x8000, metadata=_from("bir.md 5 (base partition << 15)", "B")
    )
    matmul_may_cross_banks: bool = field(metadata=_from("nki.md 4.2"))
    has_bf16_psum_accumulate: bool = field(metadata=_from("nki.md 4.1"))
    has_16bit_psum_transpose: bool = field(metadata=_from("nki.md 4.1"))

    # What a compute access pattern can say. Steps and sizes are in elements.
    max_free_dims: int = field(default=4, metadata=_from("nki.md 4.2"))
    max_access_size: int = field(default=65535, metadata=_from("nki.md 4.2 (uint16)"))
    max_access_step: int = field(default=32767, metadata=_from("nki.md 4.2 (int16)"))
    min_access_step: int = field(default=-32768, metadata=_from("nki.md 4.2 (int16)"))
    max_element_bytes: int = field(default=4, metadata=_from("nki.md 4.2", "B"))

    # PE. Free sizes are elements per partition.
    pe_rows: int = field(default=128, metadata=_from("bir.md 5"))
    pe_columns: int = field(default=128, metadata=_from("bir.md 5"))
    # penguin.md 7 reads "not 32x32 on v2"; quarters as such are a feature of gen3.
    pe_tile_sizes: tuple[int, ...] = field(
        default=(32, 64, 128), metadata=_from("nki.md 1.1 (nc_matmul), penguin.md 7")
    )
    pe_clock_ghz: float = field(metadata=_from("nki.md 4.1", "GHz"))
    max_stationary_free: int = field(default=128, metadata=_from("penguin.md 2.4"))
    max_moving_free: int = field(
        metadata=_from("nki.md 1.1 (nc_matmul into fp32)", "elements")
    )
    max_moving_free_bf16: int = field(
        metadata=_from("nki.md 1.1 (nc_matmul into bf16)", "elements")
    )
    matmul_latency_cycles: int = field(default=64, metadata=_from("nki.md 4.3"))
    fp32_matmul_passes: int = field(default=4, metadata=_from("nki.md 4.3"))
    stationary_load_elements_per_cycle: int = field(
        default=4, metadata=_from("nki.md 4.3 (fast load)")
    )
    has_double_row: bool = field(metadata=_from("nki.md 4.3, 1.1 (nc_matmul)"))
    has_sparse_matmul: bool = field(metadata=_from("bir.md 7.3"))
    has_mx: bool = field(metadata=_from("bir.md 7.3 (MatmultMx)"))
    has_tensor_indirection: bool = field(
        metadata=_from("nki.md 0 (NkiTensor.indirect), dma.md 2.3")
    )
    has_custom_op: bool = field(default=False, metadata=_from("bir.md 6.14 code 178"))
    has_exact_pe_transpose: bool = field(metadata=_from("nki.md 5.5"))

    # The other compute engines. "narrow" is 16-bit floats (and fp8 on trn3).
    dve_clock_ghz: float = field(metadata=_from("nki.md 4.1", "GHz"))
    dve_lanes: int = field(metadata=_from("nki.md 4.1"))
    dve_lanes_narrow: int = field(metadata=_from("nki.md 4.1"))
    dve_lanes_fp8: int = field(metadata=_from("nki.md 4.1"))
    act_clock_ghz: float = field(metadata=_from("nki.md 4.1", "GHz"))
    act_lanes: int = field(default=128, metadata=_from("nki.md 4.1"))
    act_lanes_narrow: int = field(metadata=_from("nki.md 4.1"))
    pool_clock_ghz: float = field(metadata=_from("nki.md 4.1", "GHz"))
    pool_lanes: int = field(default=128, metadata=_from("nki.md 4.1 (8 cores x 16)"))
    pool_cores: int = field(default=8, metadata=_from("nki.md 4.1"))
    pool_bytes_per_core: int = field(
        default=64 * KIB, metadata=_from("nki.md 4.1 (TCM)", "B")
    )
    has_exact_act_copy: bool = field(metadata=_from("nki.md 4.1, 5.2"))
    dve_pool_share_sbuf_port: bool = field(metadata=_from("nki.md 4.2"))
    dve_act_share_psum_port: bool = field(metadata=_from("nki.md 4.2"))
    bn_stats_max_free: int = field(default=512, metadata=_from("penguin.md 2.4"))

    # Instruction costs, in cycles of the engine that executes.
    min_interval_cycles: int = field(default=64, metadata=_from("nki.md 4.3 (MIN_II)"))
    access_latency_cycles: int = field(default=60, metadata=_from("nki.md 4.2"))
    full_rate_stride_bytes: int = field(
        default=16, metadata=_from("nki.md 4.2 (a larger one halves the rate)", "B")
    )
    dependent_cycles: int = field(default=100, metadata=_from("nki.md 4.3"))
    act_dependent_cycles: int = field(default=264, metadata=_from("nki.md 4.3 (PG)"))
    reduce_cycles: int = field(default=64, metadata=_from("nki.md 4.3"))
    pool_launch_cycles: int = field(
        default=150, metadata=_from("nki.md 4.3 (iota), penguin.md 2.5")
    )
    dynamic_copy_min_cycles: int = field(default=600, metadata=_from("nki.md 4.3"))
    reciprocal_cycles_per_element: int = field(
        default=8, metadata=_from("nki.md 4.3 (DVE)")
    )
    bn_aggr_cycles_per_triple: int = field(default=13, metadata=_from("nki.md 4.3"))

    # DMA: time. Where pages differ, nki.md 4.1 is followed: 33 B/ns for trn3 (dma.md 11
    # has 57.5), a peak of 27.2 for trn1 (another page has 27 GiB/s). The DGE overheads
    # of trn2 are unscaled: dma.md 11 divides them by a frequency it does not assign;
    # nki.md 4.3 has 600 ns for a whole HWDGE start.
    dma_engines: int = field(default=16, metadata=_from("nki.md 4.1"))
    dma_bytes_per_ns: float = field(
        metadata=_from("nki.md 4.1 (sustained, one engine)", "B/ns")
    )
    dma_peak_bytes_per_ns: float = field(
        metadata=_from("nki.md 4.1 (one engine)", "B/ns")
    )
    dma_start_ns: int = field(default=1300, metadata=_from("dma.md 11", "ns"))
    dma_swdge_ns: int = field(metadata=_from("dma.md 11 (added to the start)", "ns"))
    dma_hwdge_ns: int | None = field(
        metadata=_from("dma.md 11 (added to the start)", "ns")
    )
    dma_efficient_bytes: int = field(
        default=2 * KIB, metadata=_from("nki.md 4.4 (contiguous)", "B")
    )
    dma_saturating_bytes: int = field(
        default=4 * KIB, metadata=_from("nki.md 4.4, dma.md 11", "B")
    )
    dma_inefficient_below_bytes: int = field(
        default=256, metadata=_from("nki.md 4.4", "B")
    )
    dma_transpose_peak_fraction: float | None = field(
        metadata=_from("nki.md 4.1 (HBM to SBUF)")
    )
    dma_transpose_sbuf_peak_fraction: float | None = field(
        metadata=_from("nki.md 4.1 (SBUF to SBUF)")
    )

    # DMA: limits. bir.md 5 leaves MaxCceDmaSource open; dma.md 8.7 has it.
    has_hwdge: bool = field(metadata=_from("nki.md 4.1, dma.md 1.9 (level > 29)"))
    hwdge_blocks: int = field(metadata=_from("nki.md 4.1"))
    has_dma_transpose: bool = field(metadata=_from("nki.md 4.1"))
    has_dma_qos: bool = field(metadata=_from("nki.md 4.1"))
    dma_queues_per_engine: int = field(default=16, metadata=_from("nki.md 4.4"))
    max_dma_queues: int = field(default=176, metadata=_from("dma.md 7.8"))
    max_hwdge_queues: int = field(metadata=_from("dma.md 7.8"))
    max_queue_name_chars: int = field(default=31, metadata=_from("dma.md 8.7"))
    swdge_ring_descriptors: int = field(default=1020, metadata=_from("dma.md 7.11"))
    hwdge_ring_descriptors: int = field(metadata=_from("dma.md 7.11"))
    dma_partition_align: int = field(default=32, metadata=_from("bir.md 5"))
    descriptor_bytes: int = field(default=16, metadata=_from("dma.md 8.6", "B"))
    ring_align_bytes: int = field(default=64, metadata=_from("dma.md 8.6, 8.7", "B"))
    max_descriptor_bytes: int = field(default=65536, metadata=_from("dma.md 8.7", "B"))
    max_descriptors_per_packet: int = field(default=64, metadata=_from("dma.md 8.7"))
    small_descriptor_bytes: int = field(
        default=64 * KIB, metadata=_from("dma.md 8.7 (SmallDescSize)", "B")
    )
    max_dma_engine_tile_bytes: int = field(
        default=4096, metadata=_from("dma.md 8.7", "B")
    )
    max_dma_sources: int = field(
        default=16, metadata=_from("nki.md 1.1 dma_compute; bir.md 7.5 code 329")
    )
    max_descriptor_count: int = field(
        default=65535, metadata=_from("dma.md 8.7 (DIRECT2D, u16)")
    )
    max_descriptor_step_bytes: int = field(
        default=2**31 - 1, metadata=_from("dma.md 8.7 (DIRECT2D, i32)", "B")
    )
    swdge_dims: int = field(default=4, metadata=_from("dma.md 8.6"))
    hwdge_dims: int = field(metadata=_from("dma.md 8.6 (5 of shape, 2 more)"))
    max_cce_sources: int = field(default=16, metadata=_from("dma.md 8.7"))
    max_cce_elements: int = field(metadata=_from("dma.md 8.7"))
    max_indices: int = field(default=4096, metadata=_from("dma.md 8.7 (indirect)"))
    max_shape_dims: int = field(default=5, metadata=_from("dma.md 8.7"))
    shape_registers: int = field(default=4, metadata=_from("dma.md 8.7"))

    # Control. A DMA adds 16 to its semaphore: one for each engine, used or not.
    dma_semaphore_increment: int = field(default=16, metadata=_from("nki.md 4.4"))
    semaphores: int = field(default=256, metadata=_from("bir.md 5, dma.md 8.7"))
    gpsimd_sb2sb_bytes: int = field(
        default=1024, metadata=_from("bir.md 6.13", "B per partition")
    )
    reserved_semaphores: int = field(default=3, metadata=_from("dma.md 8.7"))
    events: int = field(default=256, metadata=_from("bir.md 5"))
    reserved_events: int = field(default=12, metadata=_from("dma.md 8.7"))
    registers: int = field(
        default=64, metadata=_from("nki.md 4.5 (per engine, 32 bits)")
    )
    usable_registers: int = field(default=62, metadata=_from("dma.md 7.13"))

    def __repr__(self) -> str:
        return f"<Arch {self.name}>"

    @property
    def sbuf_usable_bytes_per_partition(self) -> int:
        """What a kernel can allocate in a partition: 180224, 212984, 245752 bytes."""
        return self.sbuf_bytes_per_partition - self.sbuf_reserved_bytes_per_partition

    @property
    def psum_bytes_per_partition(self) -> int:
        """All banks of a partition: 16 KiB (bir.md 5)."""
        return self.psum_banks * self.psum_bank_bytes

    def clock_ghz(self, engine: Engine) -> float:
        """
        The clock of an engine that executes instructions.

        Our choice: every other engine than the four documented ones counts in cycles
        of the Pool.
        """
        return {
            Engine.PE: self.pe_clock_ghz,
            Engine.DVE: self.dve_clock_ghz,
            Engine.ACTIVATION: self.act_clock_ghz,
        }.get(engine, self.pool_clock_ghz)

    @staticmethod
    def partition_start_error(start: int, count: int) -> str | None:
        """
        Why a compute access cannot cover `count` partitions from `start`, else None.

        nki.md 4.2: more than 64 partitions start at 0, 33 to 64 at 0 or 64, up to 32
        at a quadrant. DMA has no such rule.
        """
        if not 1 <= count <= 128:
            return f"expected 1 to 128 partitions, got {count}"
        if count > 64:
            starts, legal = (0,), "0"
        elif count > 32:
            starts, legal = (0, 64), "0 or 64"
        else:
            starts, legal = (0, 32, 64, 96), "0, 32, 64 or 96"
        if start in starts:
            return None
        return (
            f"expected an access of {count} partitions to start at partition {legal}, "
            f"got {start}"
        )

    @staticmethod
    def table() -> tuple[Fact, ...]:
        """Every field with its unit, its values on `ARCHS` in order and its source."""
        return tuple(
            Fact(
                entry.name,
                entry.metadata["unit"],
                tuple(getattr(arch, entry.name) for arch in ARCHS),
                entry.metadata["source"],
            )
            for entry in fields(Arch)
        )


TRN1: Final = Arch(
    name="trn1",
    codename="sunda",
    level=20,
    cores_per_device=2,
    max_cores_per_logical_core=1,
    hbm_bytes_per_device=32 * GIB,
    hbm_bytes_per_core=16 * GIB,
    hbm_bytes_per_ns=820,
    sbuf_bytes_per_partition=192 * KIB,
    sbuf_reserved_bytes_per_partition=0x4000,
    matmul_may_cross_banks=False,
    has_bf16_psum_accumulate=False,
    has_16bit_psum_transpose=False,
    pe_tile_sizes=(64, 128),
    pe_clock_ghz=2.8,
    max_moving_free=512,
    max_moving_free_bf16=512,
    has_double_row=False,
    has_sparse_matmul=False,
    has_mx=False,
    has_tensor_indirection=False,
    has_custom_op=True,
    has_exact_pe_transpose=False,
    dve_clock_ghz=1.12,
    dve_lanes=128,
    dve_lanes_narrow=128,
    dve_lanes_fp8=128,
    act_clock_ghz=1.4,
    act_lanes_narrow=128,
    pool_clock_ghz=1.4,
    has_exact_act_copy=False,
    dve_pool_share_sbuf_port=True,
    dve_act_share_psum_port=True,
    dma_bytes_per_ns=17,
    dma_peak_bytes_per_ns=27.2,
    dma_swdge_ns=500,
    dma_hwdge_ns=None,
    dma_transpose_peak_fraction=None,
    dma_transpose_sbuf_peak_fraction=None,
    has_hwdge=False,
    hwdge_blocks=0,
    has_dma_transpose=False,
    has_dma_qos=False,
    max_hwdge_queues=0,
    hwdge_ring_descriptors=0,
    hwdge_dims=0,
    max_cce_elements=1024,
)

TRN2: Final = Arch(
    name="trn2",
    codename="cayman",
    level=30,
    cores_per_device=8,
    max_cores_per_logical_core=2,
    hbm_bytes_per_device=96 * GIB,
    hbm_bytes_per_core=24 * GIB,
    hbm_bytes_per_ns=3000,
    sbuf_bytes_per_partition=224 * KIB,
    sbuf_reserved_bytes_per_partition=0x4008,
    matmul_may_cross_banks=False,
    has_bf16_psum_accumulate=False,
    has_16bit_psum_transpose=True,
    pe_clock_ghz=2.4,
    max_moving_free=512,
    max_moving_free_bf16=512,
    has_double_row=True,
    has_sparse_matmul=True,
    has_mx=False,
    has_tensor_indirection=False,
    has_exact_pe_transpose=True,
    dve_clock_ghz=0.96,
    dve_lanes=256,
    dve_lanes_narrow=512,
    dve_lanes_fp8=256,
    act_clock_ghz=1.2,
    act_lanes_narrow=128,
    pool_clock_ghz=1.2,
    has_exact_act_copy=True,
    dve_pool_share_sbuf_port=False,
    dve_act_share_psum_port=False,
    dma_bytes_per_ns=23,
    dma_peak_bytes_per_ns=27.2,
    dma_swdge_ns=700,
    dma_hwdge_ns=500,
    dma_transpose_peak_fraction=0.9,
    dma_transpose_sbuf_peak_fraction=0.5,
    has_hwdge=True,
    hwdge_blocks=2,
    has_dma_transpose=True,
    has_dma_qos=False,
    max_hwdge_queues=2,
    hwdge_ring_descriptors=65520,
    hwdge_dims=7,
    max_cce_elements=2048,
)

TRN3: Final = replace(
    TRN2,
    name="trn3",
    codename="core_v4",
    level=40,
    hbm_bytes_per_device=144 * GIB,
    hbm_bytes_per_core=36 * GIB,
    hbm_bytes_per_ns=4700,
    sbuf_bytes_per_partition=256 * KIB,
    matmul_may_cross_banks=True,
    has_bf16_psum_accumulate=True,
    max_moving_free=4096,
    max_moving_free_bf16=8192,
    has_mx=True,
    has_tensor_indirection=True,
    dve_clock_ghz=1.2,
    dve_lanes_fp8=512,
    act_lanes_narrow=256,
    dma_bytes_per_ns=33,
    dma_peak_bytes_per_ns=38.4,
    has_dma_qos=True,
)

ARCHS: Final = (TRN1, TRN2, TRN3)

_ALIASES: Final = {
    "trn1": TRN1,
    "inf2": TRN1,
    "trainium": TRN1,
    "sunda": TRN1,
    "gen2": TRN1,
    "trn2": TRN2,
    "cayman": TRN2,
    "gen3": TRN2,
    "trn3": TRN3,
    "core_v4": TRN3,
    "gen4": TRN3,
}


def get_arch(name: str) -> Arch:
    """
    The generation of this name, in any of its spellings (bir.md 1.2).

    `ValueError` lists the spellings.
    """
    arch = _ALIASES.get(name)
    if arch is None:
        raise ValueError(
            f"unknown target '{name}': expected one of {', '.join(_ALIASES)}"
        )
    return arch
