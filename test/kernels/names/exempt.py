"""Names that compute nothing of a tile's elements, and those tested elsewhere."""

VALUES = """
nl.average nl.bypass nl.prelu nl.bfloat16 nl.bool_ nl.float16 nl.float32
nl.float4_e2m1fn_x4 nl.float8_e4m3 nl.float8_e4m3fn nl.float8_e4m3fn_x4 nl.float8_e5m2
nl.float8_e5m2_x4 nl.float8_e8m0fnu nl.int16 nl.int32 nl.int64 nl.int8 nl.tfloat32
nl.uint16 nl.uint32 nl.uint64 nl.uint8 nl.hbm nl.private_hbm nl.psum nl.sbuf
nl.shared_hbm nl.tile_size nl.nc nl.par_dim nl.NkiGrid
nl.NkiTileGrid nl.NkiBlockGrid
"""
QUERIES = """
nl.is_hbm nl.is_on_chip nl.is_psum nl.is_sbuf nl.num_programs nl.program_id
nl.program_ndim nisa.get_nc_version nisa.get_nc_sub_version
"""
LOOPS = """
nl.affine_range nl.sequential_range nl.static_range nl.dynamic_range nl.fori_loop
nl.while_loop nl.no_reorder
"""

EXEMPT: dict[str, str] = {
    **dict.fromkeys(
        VALUES.split(), "a value: a type, a memory, an operation, a layout"
    ),
    **dict.fromkeys(QUERIES.split(), "says something of the kernel or the machine"),
    **dict.fromkeys(
        LOOPS.split(), "control flow: test_nki_loops, test_nki_run_time_loops"
    ),
    "nl.device_print": "prints: test_nki_runtime",
    "nl.all_reduce": "between programs of a grid: test_nki_names",
    "nl.loop_reduce": "a fold over loops: test_nki_blocks, test_nki_generations",
    "nisa.core_barrier": "between cores: test_nki_cores",
    "nisa.sendrecv": "between cores: test_nki_cores",
}
