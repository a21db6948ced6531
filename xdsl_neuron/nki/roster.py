"""
The documented names of NKI by generation, with the parameters of functions.

Facts of nki.md 1.1 and 1.3, and of the documentation of 0.7: 0.1 is `neuronxcc.nki`;
0.2 is the first documented `nki`, 0.7 the newest and 0.6 the one before; "0.2-0.7"
means that all of these have the same parameters. A constant or a class has "value" in
place of parameters, a function without any has "-".
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

GENERATIONS: Final = ("0.1", "0.2", "0.6", "0.7")
"""The generations whose names are documented whole."""


@dataclass(frozen=True)
class Documented:
    """A name in one generation; `parameters` is None for a constant."""

    name: str
    generation: str
    parameters: tuple[str, ...] | None


@cache
def isa_names() -> dict[tuple[str, str], Documented]:
    """`nki.isa`: (name, generation) to what is documented."""
    return _read(_ISA)


@cache
def language_names() -> dict[tuple[str, str], Documented]:
    """`nki.language`: (name, generation) to what is documented."""
    return _read(_LANGUAGE)


def _read(table: str) -> dict[tuple[str, str], Documented]:
    found: dict[tuple[str, str], list[str]] = {}
    current: list[list[str]] = []
    for line in table.strip().splitlines():
        words = line.split()
        if not line.startswith(" "):
            name, span, *words = words
            first, _, last = span.partition("-")
            low = GENERATIONS.index(first)
            high = GENERATIONS.index(last or first)
            current = []
            for generation in GENERATIONS[low : high + 1]:
                current.append(found.setdefault((name, generation), []))
        for parameters in current:
            parameters.extend(words)
    return {
        (name, generation): Documented(name, generation, _parameters(words))
        for (name, generation), words in found.items()
    }


def _parameters(words: list[str]) -> tuple[str, ...] | None:
    if words == ["value"]:
        return None
    return () if words == ["-"] else tuple(words)


_ISA: Final = """
NkiScalar                0.7     state dtype is_comparison
activate2                0.7     dst op data imm0 imm1 op0 op1 relu_param reverse0
                                 reverse1 reduce_op reduce_res reduce_cmd engine name
activate2                0.6     dst op data imm0 imm1 op0 op1 relu_param reverse0
                                 reverse1 reduce_op reduce_res reduce_cmd name
activation               0.1     op data bias scale reduce_op reduce_res reduce_cmd mask
                                 dtype
activation               0.2-0.6 dst op data bias scale reduce_op reduce_res reduce_cmd
                                 name
activation               0.7     dst op data bias scale reduce_op reduce_res reduce_cmd
                                 engine name
activation_reduce        0.1     op data reduce_op reduce_res bias scale mask dtype
activation_reduce        0.2-0.7 dst op data reduce_op reduce_res bias scale name
affine_select            0.1     pred on_true_tile on_false_value mask dtype
affine_select            0.2     dst pattern offset channel_multiplier on_true_tile
                                 on_false_value cmp_op name
affine_select            0.6-0.7 dst pattern channel_multiplier on_true_tile
                                 on_false_value cmp_op offset name
bn_aggr                  0.1     data mask dtype
bn_aggr                  0.2-0.7 dst data name
bn_stats                 0.1     data mask dtype
bn_stats                 0.2-0.7 dst data name
core_barrier             0.2-0.7 data cores engine name
dma_compute              0.2     dst srcs scales reduce_op name
dma_compute              0.6-0.7 dst srcs reduce_op scales unique_indices oob_mode name
dma_copy                 0.1     dst src mask dst_rmw_op oob_mode dge_mode
dma_copy                 0.2     dst src dst_rmw_op oob_mode dge_mode unique_indices
                                 name
dma_copy                 0.6-0.7 dst src priority oob_mode dge_mode engine name
dma_transpose            0.1     src axes mask dtype
dma_transpose            0.2     dst src axes dge_mode oob_mode name
dma_transpose            0.6-0.7 dst src axes priority dge_mode oob_mode name
dropout                  0.1     data prob mask dtype
dropout                  0.2-0.7 dst data prob name
exponential              0.2-0.7 dst src max_value reduce_res reduce_cmd reduce_init
get_nc_sub_version       0.6-0.7 -
get_nc_version           0.1     -
get_nc_version           0.2-0.7 -
iota                     0.1     expr dtype mask
iota                     0.2-0.7 dst pattern offset channel_multiplier name
local_gather             0.1     src_buffer index num_elem_per_idx num_valid_indices
                                 mask
local_gather             0.2-0.7 dst src_buffer index num_elem_per_idx num_valid_indices
                                 name
max8                     0.1     src mask dtype
max8                     0.2-0.7 dst src name
memset                   0.1     shape value dtype mask engine
memset                   0.2-0.7 dst value engine name
nc_find_index8           0.1     data vals mask dtype
nc_find_index8           0.2-0.7 dst data vals name
nc_match_replace8        0.1     data vals imm dst_idx mask dtype
nc_match_replace8        0.2-0.7 dst data vals imm dst_idx name
nc_matmul                0.1     stationary moving is_stationary_onezero
                                 is_moving_onezero is_transpose tile_position tile_size
                                 mask
nc_matmul                0.2     dst stationary moving is_stationary_onezero
                                 is_moving_onezero is_transpose tile_position tile_size
                                 perf_mode name
nc_matmul                0.6-0.7 dst stationary moving is_stationary_onezero
                                 is_moving_onezero is_transpose accumulate tile_position
                                 tile_size perf_mode name
nc_matmul_mx             0.2     dst stationary moving stationary_scale moving_scale
                                 tile_position tile_size name
nc_matmul_mx             0.6-0.7 dst stationary moving stationary_scale moving_scale
                                 tile_position tile_size accumulate name
nc_n_gather              0.2-0.7 dst data indices name
nc_stream_shuffle        0.1     src dst shuffle_mask dtype mask
nc_stream_shuffle        0.2-0.7 dst src shuffle_mask name
nc_transpose             0.1     data mask dtype engine
nc_transpose             0.2-0.7 dst data engine name
nonzero_with_count       0.2-0.7 dst src index_offset padding_val
quantize_mx              0.2-0.7 dst src dst_scale name
rand2                    0.2-0.7 dst min max name
rand_get_state           0.6-0.7 dst engine name
rand_set_state           0.2-0.7 src_seeds engine name
range_select             0.1     on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd
                                 reduce_res reduce_op range_start on_false_value mask
                                 dtype
range_select             0.2-0.7 dst on_true_tile comp_op0 comp_op1 bound0 bound1
                                 reduce_cmd reduce_res reduce_op range_start
                                 on_false_value name
reciprocal               0.1     data dtype mask
reciprocal               0.2-0.7 dst data name
register_alloc           0.2-0.7 x
register_load            0.2-0.7 dst src
register_move            0.2     dst imm
register_move            0.6-0.7 dst src
register_store           0.2-0.7 dst src
rng                      0.2-0.7 dst engine name
scalar_load              0.7     src
scalar_store             0.7     dst value
scalar_tensor_tensor     0.1     data op0 operand0 op1 operand1 reverse0 reverse1 dtype
                                 mask
scalar_tensor_tensor     0.2-0.7 dst data op0 operand0 op1 operand1 reverse0 reverse1
                                 name
select_reduce            0.1     dst predicate on_true on_false reduce_res reduce_cmd
                                 reduce_op reverse_pred mask dtype
select_reduce            0.2-0.7 dst predicate on_true on_false reduce_res reduce_cmd
                                 reduce_op reverse_pred name
sendrecv                 0.2     src dst send_to_rank recv_from_rank pipe_id name
sendrecv                 0.6-0.7 src dst send_to_rank recv_from_rank pipe_id dma_engine
                                 name
sequence_bounds          0.6-0.7 dst segment_ids name
set_rng_seed             0.2-0.7 src_seeds name
tensor_copy              0.1     src mask dtype engine
tensor_copy              0.2-0.7 dst src engine name
tensor_copy_dynamic_dst  0.1     dst src mask dtype engine
tensor_copy_dynamic_src  0.1     src mask dtype engine
tensor_copy_predicated   0.1     src dst predicate reverse_pred mask dtype
tensor_copy_predicated   0.2-0.7 dst src predicate reverse_pred name
tensor_partition_reduce  0.1     op data mask dtype
tensor_partition_reduce  0.2-0.7 dst op data name
tensor_reduce            0.1     op data axis mask dtype negate keepdims
tensor_reduce            0.2-0.7 dst op data axis negate keepdims name
tensor_scalar            0.1     data op0 operand0 reverse0 op1 operand1 reverse1 dtype
                                 mask engine
tensor_scalar            0.2-0.7 dst data op0 operand0 reverse0 op1 operand1 reverse1
                                 engine name
tensor_scalar_cumulative 0.2-0.7 dst src op0 op1 imm0 imm1 reduce_cmd
tensor_scalar_reduce     0.1     data op0 operand0 reduce_op reduce_res reverse0 dtype
                                 mask
tensor_scalar_reduce     0.2     dst data op0 operand0 reduce_op reduce_res reverse0
                                 name
tensor_scalar_reduce     0.6-0.7 dst data op0 operand0 reduce_op reduce_res reverse0
                                 reduce_cmd reduce_init reduce_res_negate name
tensor_tensor            0.1     data1 data2 op dtype mask engine
tensor_tensor            0.2-0.7 dst data1 data2 op engine name
tensor_tensor_scan       0.1     data0 data1 initial op0 op1 reverse0 reverse1 dtype
                                 mask
tensor_tensor_scan       0.2-0.7 dst data0 data1 initial op0 op1 reverse0 reverse1 name
topk                     0.6     val_dst idx_dst src n name
topk                     0.7     val_dst idx_dst src n sorted name
"""

_LANGUAGE: Final = """
NkiBlockGrid             0.7     value
NkiGrid                  0.7     value
NkiTileGrid              0.7     value
abs                      0.1     x dtype mask
abs                      0.6-0.7 x dtype
abs_max                  0.6-0.7 x y dtype
abs_min                  0.6-0.7 x y dtype
add                      0.1     x y dtype mask
add                      0.6-0.7 x y dtype
affine_range             0.1     *args
affine_range             0.2-0.7 start stop step
all                      0.1     x axis dtype mask
all                      0.6-0.7 x axis dtype
all_reduce               0.1     x op program_axes dtype mask parallel_reduce
                                 asynchronous
alloc_blocks             0.7     tile_shape block_shape element_shape buffer dtype
                                 address name
alloc_tiles              0.7     tile_shape element_shape buffer dtype address name
arange                   0.1     *args
arctan                   0.6-0.7 x dtype
atomic_rmw               0.1     dst value op mask
average                  0.6-0.7 value
bfloat16                 0.1-0.7 value
bitwise_and              0.1     x y dtype mask
bitwise_and              0.6-0.7 x y dtype
bitwise_or               0.1     x y dtype mask
bitwise_or               0.6-0.7 x y dtype
bitwise_xor              0.1     x y dtype mask
bitwise_xor              0.6-0.7 x y dtype
blocks                   0.7     source tile_shape block_shape
bool_                    0.2-0.7 value
broadcast_to             0.1     src shape
broadcast_to             0.6-0.7 x shape dtype
bypass                   0.6-0.7 value
ceil                     0.1     x dtype mask
ceil                     0.6-0.7 x dtype
copy                     0.1     src mask dtype
copy                     0.6-0.7 x dtype
cos                      0.1     x dtype mask
cos                      0.6-0.7 x dtype
device_print             0.6-0.7 print_prefix tensor
divide                   0.1     x y dtype mask
divide                   0.6-0.7 x y dtype
dropout                  0.1     x rate dtype mask
dropout                  0.6-0.7 x rate dtype
ds                       0.1-0.7 start size
dynamic_range            0.6     start stop step
empty_like               0.1     a dtype buffer name
empty_like               0.6-0.7 x dtype buffer name
equal                    0.6-0.7 x y dtype
erf                      0.1     x dtype mask
erf                      0.6-0.7 x dtype
erf_dx                   0.1     x dtype mask
erf_dx                   0.6-0.7 x dtype
exp                      0.1     x dtype mask
exp                      0.6-0.7 x dtype
expand_dims              0.1     data axis
expand_dims              0.6-0.7 x axis
float16                  0.2-0.7 value
float32                  0.2-0.7 value
float4_e2m1fn_x4         0.2-0.7 value
float8_e4m3              0.1-0.7 value
float8_e4m3fn            0.2-0.7 value
float8_e4m3fn_x4         0.2-0.7 value
float8_e5m2              0.1-0.7 value
float8_e5m2_x4           0.2-0.7 value
float8_e8m0fnu           0.6-0.7 value
floor                    0.1     x dtype mask
floor                    0.6-0.7 x dtype
fmod                     0.1     x y dtype mask
fmod                     0.6-0.7 x y dtype
fori_loop                0.6-0.7 lower upper body_fun step
full                     0.1     shape fill_value dtype buffer name
full                     0.6-0.7 shape fill_value dtype buffer name
gather_flattened         0.1     data indices mask dtype
gather_flattened         0.6-0.7 data indices axis dtype
gelu                     0.1     x dtype mask
gelu                     0.6-0.7 x dtype
gelu_apprx_sigmoid       0.1     x dtype mask
gelu_apprx_sigmoid       0.6-0.7 x dtype
gelu_apprx_sigmoid_dx    0.6-0.7 x dtype
gelu_apprx_tanh          0.1     x dtype mask
gelu_apprx_tanh          0.6-0.7 x dtype
gelu_dx                  0.1     x dtype mask
gelu_dx                  0.6-0.7 x dtype
greater                  0.1     x y dtype mask
greater                  0.6-0.7 x y dtype
greater_equal            0.1     x y dtype mask
greater_equal            0.6-0.7 x y dtype
hbm                      0.6-0.7 value
int16                    0.2-0.7 value
int32                    0.2-0.7 value
int64                    0.7     value
int8                     0.2-0.7 value
invert                   0.6-0.7 x dtype
is_hbm                   0.6-0.7 buffer
is_on_chip               0.6-0.7 buffer
is_psum                  0.6-0.7 buffer
is_sbuf                  0.6-0.7 buffer
left_shift               0.1     x y dtype mask
left_shift               0.6-0.7 x y dtype
less                     0.6-0.7 x y dtype
less_equal               0.1     x y dtype mask
less_equal               0.6-0.7 x y dtype
load                     0.1     src mask dtype
load                     0.6-0.7 src dtype
load_transpose2d         0.1     src mask dtype
load_transpose2d         0.6-0.7 src dtype
log                      0.1     x dtype mask
log                      0.6-0.7 x dtype
logical_and              0.1     x y dtype mask
logical_and              0.6-0.7 x y dtype
logical_not              0.1     x dtype mask
logical_not              0.6-0.7 x dtype
logical_or               0.1     x y dtype mask
logical_or               0.6-0.7 x y dtype
logical_xor              0.1     x y dtype mask
logical_xor              0.6-0.7 x y dtype
loop_reduce              0.1     x op loop_indices dtype mask
matmul                   0.1     x y transpose_x mask
matmul                   0.6-0.7 x y transpose_x
max                      0.1     x axis dtype mask keepdims
max                      0.6-0.7 x axis dtype keepdims
maximum                  0.1     x y dtype mask
maximum                  0.6-0.7 x y dtype
mean                     0.1     x axis dtype mask keepdims
mean                     0.6-0.7 x axis dtype keepdims
mgrid                    0.1     value
min                      0.1     x axis dtype mask keepdims
min                      0.6-0.7 x axis dtype keepdims
minimum                  0.1     x y dtype mask
minimum                  0.6-0.7 x y dtype
mish                     0.1     x dtype mask
mish                     0.6-0.7 x dtype
mod                      0.1     x y dtype mask
mod                      0.6-0.7 x y dtype
multiply                 0.1     x y dtype mask
multiply                 0.6-0.7 x y dtype
nc                       0.1     value
ndarray                  0.1     shape dtype buffer name
ndarray                  0.2     shape dtype buffer name
ndarray                  0.6-0.7 shape dtype buffer name address
negative                 0.6-0.7 x dtype
no_reorder               0.6-0.7 -
not_equal                0.1     x y dtype mask
not_equal                0.6-0.7 x y dtype
num_programs             0.1-0.7 axes
ones                     0.1     shape dtype buffer name
ones                     0.6-0.7 shape dtype buffer name
par_dim                  0.1     value
power                    0.1     x y dtype mask
power                    0.6-0.7 x y dtype
prelu                    0.6-0.7 value
private_hbm              0.1-0.7 value
prod                     0.1     x axis dtype mask keepdims
prod                     0.6-0.7 x axis dtype keepdims
program_id               0.1-0.7 axis
program_ndim             0.1-0.7 -
psum                     0.1-0.7 value
rand                     0.1     shape dtype
rand                     0.6-0.7 shape dtype buffer name
random_seed              0.1     seed mask
random_seed              0.6-0.7 seed
reciprocal               0.1     x dtype mask
reciprocal               0.6-0.7 x dtype
relu                     0.1     x dtype mask
relu                     0.6-0.7 x dtype
right_shift              0.1     x y dtype mask
right_shift              0.6-0.7 x y dtype
rms_norm                 0.1     x w axis n epsilon dtype compute_dtype mask
rms_norm                 0.6-0.7 x w axis n epsilon dtype compute_dtype
rsqrt                    0.1     x dtype mask
rsqrt                    0.6-0.7 x dtype
sbuf                     0.1     value
sbuf                     0.6-0.7 value
sequential_range         0.1     *args
sequential_range         0.2-0.7 start stop step
shared_constant          0.1     constant dtype
shared_constant          0.2     constant dtype
shared_constant          0.6-0.7 constant
shared_hbm               0.2-0.7 value
shared_identity_matrix   0.1     n dtype
shared_identity_matrix   0.6-0.7 n dtype dst
sigmoid                  0.1     x dtype mask
sigmoid                  0.6-0.7 x dtype
sign                     0.6-0.7 x dtype
silu                     0.1     x dtype mask
silu                     0.6-0.7 x dtype
silu_dx                  0.1     x dtype mask
silu_dx                  0.6-0.7 x dtype
sin                      0.1     x dtype mask
sin                      0.6-0.7 x dtype
softmax                  0.1     x axis dtype compute_dtype mask
softmax                  0.6-0.7 x axis dtype
softplus                 0.1     x dtype mask
softplus                 0.6-0.7 x dtype
sqrt                     0.1     x dtype mask
sqrt                     0.6-0.7 x dtype
square                   0.1     x dtype mask
square                   0.6-0.7 x dtype
static_range             0.1     *args
static_range             0.2-0.7 start stop step
store                    0.1     dst value mask
store                    0.6-0.7 dst value
subtract                 0.1     x y dtype mask
subtract                 0.6-0.7 x y dtype
sum                      0.1     x axis dtype mask keepdims
sum                      0.6-0.7 x axis dtype keepdims
tan                      0.1     x dtype mask
tan                      0.6-0.7 x dtype
tanh                     0.1     x dtype mask
tanh                     0.6-0.7 x dtype
tfloat32                 0.1-0.7 value
tile_size                0.1-0.7 value
tiles                    0.7     source tile_shape
transpose                0.1     x dtype mask
transpose                0.6-0.7 x dtype
trunc                    0.1     x dtype mask
trunc                    0.6-0.7 x dtype
uint16                   0.2-0.7 value
uint32                   0.2-0.7 value
uint64                   0.7     value
uint8                    0.2-0.7 value
var                      0.1     x axis dtype mask
var                      0.6-0.7 x axis dtype keepdims
where                    0.1     condition x y dtype mask
where                    0.6-0.7 condition x y dtype
while_loop               0.6-0.7 init body_fun
zeros                    0.1-0.7 shape dtype buffer name
zeros_like               0.1     a dtype buffer name
zeros_like               0.6-0.7 x dtype buffer name
"""
