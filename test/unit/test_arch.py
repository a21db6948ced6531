"""The generations: their numbers as the reference prints them, and the access rule."""

import dataclasses
import re

import pytest

from xdsl_neuron.arch import ARCHS, TRN1, TRN2, TRN3, Arch, get_arch
from xdsl_neuron.isa import Engine

KIB = 1024
GIB = 1024**3

# Values for trn1, trn2, trn3.
PER_GENERATION = {
    "name": ("trn1", "trn2", "trn3"),
    "codename": ("sunda", "cayman", "core_v4"),
    "level": (20, 30, 40),
    "cores_per_device": (2, 8, 8),
    "max_cores_per_logical_core": (1, 2, 2),
    "hbm_bytes_per_device": (32 * GIB, 96 * GIB, 144 * GIB),
    "hbm_bytes_per_core": (16 * GIB, 24 * GIB, 36 * GIB),
    "hbm_bytes_per_ns": (820, 3000, 4700),
    "sbuf_bytes_per_partition": (196608, 229376, 262144),
    "sbuf_reserved_bytes_per_partition": (0x4000, 0x4008, 0x4008),
    "sbuf_usable_bytes_per_partition": (180224, 212984, 245752),
    "matmul_may_cross_banks": (False, False, True),
    "has_bf16_psum_accumulate": (False, False, True),
    "has_16bit_psum_transpose": (False, True, True),
    "pe_clock_ghz": (2.8, 2.4, 2.4),
    "pe_tile_sizes": ((64, 128), (32, 64, 128), (32, 64, 128)),
    "max_moving_free": (512, 512, 4096),
    "max_moving_free_bf16": (512, 512, 8192),
    "has_double_row": (False, True, True),
    "has_sparse_matmul": (False, True, True),
    "has_mx": (False, False, True),
    "has_tensor_indirection": (False, False, True),
    "has_custom_op": (True, False, False),
    "has_exact_pe_transpose": (False, True, True),
    "dve_clock_ghz": (1.12, 0.96, 1.2),
    "dve_lanes": (128, 256, 256),
    "dve_lanes_narrow": (128, 512, 512),
    "dve_lanes_fp8": (128, 256, 512),
    "act_clock_ghz": (1.4, 1.2, 1.2),
    "act_lanes_narrow": (128, 128, 256),
    "pool_clock_ghz": (1.4, 1.2, 1.2),
    "has_exact_act_copy": (False, True, True),
    "dve_pool_share_sbuf_port": (True, False, False),
    "dve_act_share_psum_port": (True, False, False),
    "dma_bytes_per_ns": (17, 23, 33),
    "dma_peak_bytes_per_ns": (27.2, 27.2, 38.4),
    "dma_swdge_ns": (500, 700, 700),
    "dma_hwdge_ns": (None, 500, 500),
    "dma_transpose_peak_fraction": (None, 0.9, 0.9),
    "dma_transpose_sbuf_peak_fraction": (None, 0.5, 0.5),
    "has_hwdge": (False, True, True),
    "hwdge_blocks": (0, 2, 2),
    "has_dma_transpose": (False, True, True),
    "has_dma_qos": (False, False, True),
    "max_hwdge_queues": (0, 2, 2),
    "hwdge_ring_descriptors": (0, 65520, 65520),
    "hwdge_dims": (0, 7, 7),
    "max_cce_elements": (1024, 2048, 2048),
}

# The same on all of them.
COMMON = {
    "sbuf_partitions": 128,
    "sbuf_align_bytes": 1,
    "partition_address_step": 1 << 18,
    "quadrant_partitions": 32,
    "mx_block_partitions": 8,
    "mx_block_elements": 4,
    "sparse_group": 4,
    "sparse_tag_bits": 4,
    "sparse_tags_per_word": 4,
    "gpsimd_sb2sb_bytes": 1024,
    "psum_partitions": 128,
    "psum_banks": 8,
    "psum_bank_bytes": 2048,
    "psum_bytes_per_partition": 16384,
    "psum_align_bytes": 4,
    "psum_partition_address_step": 1 << 15,
    "max_free_dims": 4,
    "max_access_size": 65535,
    "max_access_step": 32767,
    "min_access_step": -32768,
    "max_element_bytes": 4,
    "indirect_partitions": 16,
    "pe_indirect_partitions": 32,
    "pe_rows": 128,
    "pe_columns": 128,
    "max_stationary_free": 128,
    "matmul_latency_cycles": 64,
    "fp32_matmul_passes": 4,
    "stationary_load_elements_per_cycle": 4,
    "act_lanes": 128,
    "pool_lanes": 128,
    "pool_cores": 8,
    "pool_bytes_per_core": 64 * KIB,
    "bn_stats_max_free": 512,
    "min_interval_cycles": 64,
    "access_latency_cycles": 60,
    "full_rate_stride_bytes": 16,
    "dependent_cycles": 100,
    "act_dependent_cycles": 264,
    "reduce_cycles": 64,
    "pool_launch_cycles": 150,
    "dynamic_copy_min_cycles": 600,
    "reciprocal_cycles_per_element": 8,
    "bn_aggr_cycles_per_triple": 13,
    "dma_engines": 16,
    "dma_start_ns": 1300,
    "dma_efficient_bytes": 2 * KIB,
    "dma_saturating_bytes": 4 * KIB,
    "dma_inefficient_below_bytes": 256,
    "dma_queues_per_engine": 16,
    "max_dma_queues": 176,
    "max_queue_name_chars": 31,
    "swdge_ring_descriptors": 1020,
    "dma_partition_align": 32,
    "descriptor_bytes": 16,
    "ring_align_bytes": 64,
    "max_descriptor_bytes": 65536,
    "max_descriptors_per_packet": 64,
    "small_descriptor_bytes": 64 * KIB,
    "max_dma_engine_tile_bytes": 4096,
    "max_dma_sources": 16,
    "max_descriptor_count": 65535,
    "max_descriptor_step_bytes": 2147483647,
    "swdge_dims": 4,
    "max_cce_sources": 16,
    "max_indices": 4096,
    "max_shape_dims": 5,
    "shape_registers": 4,
    "dma_semaphore_increment": 16,
    "semaphores": 256,
    "reserved_semaphores": 3,
    "events": 256,
    "reserved_events": 12,
    "registers": 64,
    "usable_registers": 62,
}


@pytest.mark.parametrize(("name", "values"), PER_GENERATION.items())
def test_per_generation(name: str, values: tuple[object, ...]):
    assert tuple(getattr(arch, name) for arch in ARCHS) == values


@pytest.mark.parametrize(("name", "value"), COMMON.items())
def test_common(name: str, value: object):
    assert [getattr(arch, name) for arch in ARCHS] == [value] * 3


def test_every_field_is_tested():
    names = {entry.name for entry in dataclasses.fields(Arch)}
    assert names <= PER_GENERATION.keys() | COMMON.keys()


def test_table():
    rows = {row.name: row for row in Arch.table()}
    assert len(rows) == len(dataclasses.fields(Arch))
    row = ("pe_clock_ghz", "GHz", (2.8, 2.4, 2.4), "nki.md 4.1")
    assert rows["pe_clock_ghz"] == row
    assert rows["semaphores"].values == (256, 256, 256)
    for row in rows.values():
        assert re.match(r"(bir|nki|dma|penguin)\.md \d", row.source), row
        assert row.name.endswith("_bytes") <= row.unit.startswith("B"), row


@pytest.mark.parametrize(
    ("arch", "names"),
    [
        (TRN1, "trn1 inf2 trainium sunda gen2"),
        (TRN2, "trn2 cayman gen3"),
        (TRN3, "trn3 core_v4 gen4"),
    ],
)
def test_get_arch(arch: Arch, names: str):
    for name in names.split():
        assert get_arch(name) is arch


@pytest.mark.parametrize("name", ["", "trn4", "TRN1", "tonga"])
def test_get_arch_refuses(name: str):
    with pytest.raises(ValueError, match=f"unknown target '{name}': .* trn1, inf2, "):
        get_arch(name)


def test_frozen_and_distinct():
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(TRN1, "level", 30)
    assert dataclasses.replace(TRN1) != TRN1
    assert str(TRN2) == "<Arch trn2>"


def test_clocks():
    assert TRN1.clock_ghz(Engine.PE) == 2.8
    assert TRN1.clock_ghz(Engine.DVE) == 1.12
    assert TRN3.clock_ghz(Engine.ACTIVATION) == 1.2
    assert TRN2.clock_ghz(Engine.POOL) == 1.2
    assert TRN1.clock_ghz(Engine.SP) == 1.4


@pytest.mark.parametrize("count", range(1, 129))
def test_partition_starts(count: int):
    if count > 64:
        legal = {0}
    elif count > 32:
        legal = {0, 64}
    else:
        legal = {0, 32, 64, 96}
    errors = {start: Arch.partition_start_error(start, count) for start in range(128)}
    assert {start for start, error in errors.items() if error is None} == legal
    assert all(start + count <= 128 for start in legal)


def test_partition_start_messages():
    assert TRN2.partition_start_error(32, 65) == (
        "expected an access of 65 partitions to start at partition 0, got 32"
    )
    assert TRN2.partition_start_error(32, 33) == (
        "expected an access of 33 partitions to start at partition 0 or 64, got 32"
    )
    assert TRN2.partition_start_error(-32, 1) == (
        "expected an access of 1 partitions to start at partition 0, 32, 64 or 96, "
        "got -32"
    )
    assert Arch.partition_start_error(0, 129) == (
        "expected 1 to 128 partitions, got 129"
    )
    assert Arch.partition_start_error(0, 0) == "expected 1 to 128 partitions, got 0"
