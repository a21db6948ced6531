"""
Which JSON key a property has: the tables of bir.md 4.5, and what differs from them.

A property whose name is a documented key of its opcode is written under that key, any
other inside `xdsl_neuron`; so a new instruction needs a `Form` only where names or
operand order differ.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from xdsl.ir import Operation

from xdsl_neuron.dialects.bir import Bir, BirInstruction, OpaqueInstruction
from xdsl_neuron.dialects.dma import Descriptor, Dma
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.isa import AccumulateCommand
from xdsl_neuron.json.document import Json, Node
from xdsl_neuron.json.fields import (
    Field,
    accumulation_flag,
    affine_pattern,
    axis,
    entry_step,
    indirect_dims,
    memset_constant,
    number_of_indices,
    oob_is_error,
    permutation,
    pool_function,
)

EXTENSION: Final = "xdsl_neuron"
"""The key of whatever BIR JSON has no key for."""

VERSION: Final = 2

HEADER_ALWAYS: Final = (
    "origin",
    "opcode",
    "engine",
    "engine_id",
    "scheduled_start",
    "scheduled_end",
    "optin_passes",
    "ins",
    "outs",
)
HEADER_REST: Final = (
    "dependencies",
    "loop_carried_dependencies",
    "unroll_dependencies",
    "sync_info",
    "indirection_ins",
    "debug",
    "loopnest",
    "predicates",
    "order",
    "dma_trigger_debug_update_semaphore_id",
)
"""The instruction header (bir.md 4.3); `name` is what a container's element has."""

_DMA = "queue dge_type duplicate"
_MATMULT = (
    "accumulation_flag! psum_zero_region! replication_resolution! "
    "replication_shift_amnt! replication_num_rows! is_transpose! is_fmap_onezero! "
    "is_weight_onezero! tile_size! tile_position.0! tile_position.1! perf_mode! "
    "ifmap_quant_offset! weights_quant_offset!"
)
_KEYS: Final = {
    "Matmult": _MATMULT,
    "MatmultMx": _MATMULT,
    "MatmultSparse": f"{_MATMULT} compress_ratio",
    "Activation": "scale! alpha! can_read_uninit func! acc! is_activate2 op0! op1! "
    "reverse0 reverse1 reduce_op!",
    "TensorReduce": "op! axis! apply_transpose negate",
    "Pool": "func!",
    "Exponential": "reduce_cmd!",
    "RangeSelect": "base compare_op0! compare_op1! reduce_op! reduce_cmd! fill_value! "
    "num_active_channels",
    "MatchReplace": "imm_value!",
    "MaxIndexAndMatchReplace": "imm_value!",
    "LoadActFuncSet": "act_func_set_id",
    "DveReadAccumulator": "negated",
    "TensorCopy": "can_read_uninit",
    "GenericCopy": "can_read_uninit",
    "TensorCopyDynamicSrc": "scale can_read_uninit",
    "TensorCopyDynamicDst": "scale can_read_uninit",
    "IndirectCopy": "num_valid_indices!",
    "CopyPredicated": "can_read_uninit reverse_pred reduce_op! accumulator_cmd",
    "TensorScalar": "op0! const0! reverse0! op1! const1! reverse1!",
    "TensorScalarPtr": "op0! reverse0! op1! reverse1! apply_transpose "
    "is_tensor_scalar_addr is_scalar_tensor_tensor is_tensor_tensor_scan "
    "negate_second_output acc",
    "TensorScalarCache": "op0! reverse0 op1! reverse1 mode acc",
    "TensorScalarAffineSelect": "base! pattern! channel_multiplier compare_op! "
    "fill_value",
    "TensorTensor": "op! acc",
    "Iota": "base! pattern! channel_multiplier",
    "Memset": "mode! constant!",
    "Dropout": "is_keep_threshold",
    "StreamShuffle": "mask!",
    "BNStats": "apply_transpose!",
    "BNBackprop": "total_elements!",
    "BNBackprop2": "total_elements!",
    "Rand": "random_algorithm! rand_num_steps! distribution! params!",
    "SetRandState": "rng_engine!",
    "Load": f"{_DMA} can_read_uninit dma_qos",
    "Save": f"{_DMA} can_read_uninit dma_qos",
    "DMACopy": f"{_DMA} mode oob_is_err transpose_op constants cce_op replica_groups "
    "remote_notification can_read_uninit dma_qos use_gpsimd_dma",
    "DMATrigger": f"{_DMA} dma_blocks",
    "IndirectLoad": f"{_DMA} runtime_semaphore_wait_value",
    "IndirectSave": f"{_DMA} runtime_semaphore_wait_value",
    "IndirectSaveAccumulate": f"{_DMA} num_indices entry_step_elements op!",
    "GenericIndirectLoad": f"{_DMA} indirect_dims!",
    "GenericIndirectSave": f"{_DMA} indirect_dims! op",
    "DMADescriptorCopy": "num_tiling_dimensions can_read_uninit",
    "DMADescriptorCCE": "num_tiling_dimensions constants op!",
    "DMADescriptorTranspose": "num_tiling_dimensions transpose_op! can_read_uninit",
    "DMADescriptorReplicate": "num_tiling_dimensions",
    "AbstractCopy": "dma_qos",
    "TongaReduceMacroSymbolic": "op! is_first_reduce reduce_axes",
    "ReadVarAddr": _DMA,
    "CollectiveCompute": "queue cc_channel.kind! cc_channel.replica_groups "
    "cc_channel.op cc_dim cc_type_hint stream_id src_target_pairs can_read_uninit "
    "is_local pipe_id recv_from_rank send_to_rank initial_corebarrier permute_chain "
    "src1_bitmap unique_tensors use_gpsimd_dma dma_qos",
    "GetCurProcessingRankID": "iter_id! channel_id! stream_id replica_groups!",
    "CompareAndBranch": "comp_op! on_true! on_false!",
    "UnconditionalBranch": "target!",
    "BranchHint": "hint! associate_branch!",
    "Call": "table_id target! arguments",
    "SwitchQueueInstance": "queue! instance! no_rearm",
    "ResetQueueInstance": "queue! instance!",
    "GroupResetSemaphores": "mode sema_group!",
    "Drain": "is_reset_sema",
    "CoreBarrier": "runtime_semaphore id cores!",
    "InlineASMBytes": "asm_bytes! sync_type latency_estimate",
    "TensorCompletion": "mode",
    "DevicePrint": "prefix! output_buffer",
    "CustomOp": "opFunctionName! opLibFile! ulib_to_ucode_version "
    "ulib_to_isa_version is_builtin srcsShape dstsShape",
    "BIRKernel": "kernel_name! srcs_shape dsts_shape kernel_attrs sb_buf_shape "
    "psum_buf_shape auto_cast is_causal fused_rmsnorm norm_type lnc_size store_add "
    "quant_kernel output_layout lower_bound",
    "NKIKernel": "func! func_args func_outs sb_buf_shape psum_buf_shape "
    "address_rotation_scope_val kernel_source_val",
    "NKIKLIRKernel": "klir_binary! kernel_format nki_binary_version_identifier "
    "enable_device_dump func_args func_outs sb_buf_shape psum_buf_shape "
    "address_rotation_scope_val",
    "CollectiveSend": "queue peer_id! can_read_uninit",
    "CollectiveRecv": "queue peer_id!",
    "GetGlobalRankId": "world_size!",
    "RegisterAlu": "op! is_64bit",
}
"""
Keys of an opcode beside the header; `!` marks those that are always written. A dot
leads into an object, or with a number to a place of an array.
"""

ENGINE_KEYS: Final = {"SetRandState": "rng_engine"}
"""Keys of opcodes that say again which engine it is."""

_SYNC = {"on_wait": "sync_info.on_wait", "on_update": "sync_info.on_update"}
"""Where an instruction's waits and updates are."""


@dataclass(frozen=True)
class Form:
    """What the tables do not say of an operation."""

    opcode: str = ""
    """The opcode where the class has no roster row."""
    names: dict[str, str] = field(default_factory=dict[str, str])
    """Documented keys of properties named otherwise."""
    slots: tuple[str, ...] = ()
    """Inputs in the documented order; `scalar0|imm0` is a tensor or an immediate."""
    indirection: tuple[str, ...] = ()
    """Inputs that are `indirection_ins`."""
    fields: tuple[Field, ...] = ()
    """Properties whose documented form is not simply the value."""
    fixed: dict[str, Json] = field(default_factory=dict[str, Json])
    """
    Documented keys with the value that this operation always has or, of a property
    that may be absent, that stands for absence.
    """
    mode: dict[str, Json] = field(default_factory=dict[str, Json])
    """Fixed keys that tell operations of one opcode apart."""
    among: dict[str, tuple[Json, ...]] = field(
        default_factory=dict[str, tuple[Json, ...]]
    )
    """Keys of properties that tell them apart: each holds one of these values."""

    several: bool = False
    """Whether it is the one of its opcode that has more inputs than one."""

    @property
    def constants(self) -> dict[str, Json]:
        """All fixed keys."""
        return {**self.fixed, **self.mode}


_SCALARS = ("src", "scalar0|imm0", "scalar1|imm1")
_ACTIVATION = Form(
    slots=("src", "scale|scale_imm", "bias|bias_imm"),
    fixed={
        "scale": 1.0,
        "alpha": 0.0,
        "acc": "Idle",
        "op0": "bypass",
        "op1": "bypass",
        "reduce_op": "bypass",
    },
)
_ACTIVATE2 = Form(slots=_SCALARS, fixed=_ACTIVATION.fixed, mode={"is_activate2": True})
_DEFAULT_COMMAND: Final = AccumulateCommand.ZERO_ACCUMULATE.value
_COMMANDS: Final = tuple(
    command.value
    for command in AccumulateCommand
    if command is not AccumulateCommand.IDLE
)


def _accumulating(form: Form, key: str) -> Form:
    """The form with a command to the accumulators under `key`, which is not Idle."""
    return replace(
        form,
        names={**form.names, "command": key},
        fixed={**form.fixed, key: _DEFAULT_COMMAND},
        among={key: _COMMANDS},
    )


_ARRAY_FIXED: Final[dict[str, Json]] = {
    "psum_zero_region": 0,
    "replication_resolution": 0,
    "replication_shift_amnt": 0,
    "replication_num_rows": 0,
    "tile_size": [-1, -1],
    "tile_position.0": -1,
    "tile_position.1": -1,
}
_ARRAY_NAMES: Final = {
    "tile_row": "tile_position.0",
    "tile_column": "tile_position.1",
}
_MATMUL = Form(
    names={
        **_ARRAY_NAMES,
        "moving_onezero": "is_fmap_onezero",
        "stationary_onezero": "is_weight_onezero",
        "moving_quant_offset": "ifmap_quant_offset",
        "stationary_quant_offset": "weights_quant_offset",
    },
    slots=("moving", "stationary"),
    fields=(accumulation_flag,),
    fixed={**_ARRAY_FIXED, "ifmap_quant_offset": 0, "weights_quant_offset": 0},
)
_MATMUL_MX = Form(
    names=_ARRAY_NAMES,
    slots=("moving", "stationary", "moving_scale", "stationary_scale"),
    fields=(accumulation_flag,),
    fixed={
        **_ARRAY_FIXED,
        "is_transpose": False,
        "is_fmap_onezero": False,
        "is_weight_onezero": False,
        "perf_mode": "None",
        "ifmap_quant_offset": 0,
        "weights_quant_offset": 0,
    },
)
_RANGE = {
    "compare0": "compare_op0",
    "compare1": "compare_op1",
    "range_start": "base",
}
_DMA_NAMES = {"dge": "dge_type", "rmw_op": "cce_op"}

_FORMS: Final = {
    "bir.dma_trigger": Form(names={"blocks": "dma_blocks"}),
    "bir.tensor_scalar_ptr": Form(slots=_SCALARS, fixed={"op1": "bypass"}),
    "bir.tensor_tensor_scan": Form(
        slots=("data0", "data1", "initial|initial_imm"),
        mode={"is_scalar_tensor_tensor": True, "is_tensor_tensor_scan": True},
    ),
    "bir.scalar_tensor_tensor": Form(
        slots=("src", "scalar0|imm0", "other"),
        mode={"is_scalar_tensor_tensor": True},
    ),
    "bir.tensor_scalar_cache_reduce": Form(
        slots=(*_SCALARS[:2], "initial|initial_imm"),
        fixed={"reverse1": False, "acc": _DEFAULT_COMMAND},
        names={"reduce_op": "op1", "command": "acc", "negate": "negate_second_output"},
        among={"acc": _COMMANDS},
    ),
    "bir.tensor_scalar_cache_cumulative": Form(
        slots=("src", "scalar0|imm0", "initial|initial_imm"),
        names={"command": "acc"},
        fixed={"acc": _DEFAULT_COMMAND},
        mode={"mode": "Cumulative"},
    ),
    "bir.activation": _ACTIVATION,
    "bir.activation_accumulation": _accumulating(_ACTIVATION, "acc"),
    "bir.activate2": _ACTIVATE2,
    "bir.activate2_reduce": _accumulating(_ACTIVATE2, "acc"),
    "bir.partition_reduce": Form(mode={"axis": "C"}),
    "bir.pool": Form(fields=(pool_function,)),
    "bir.max_index": Form(slots=("values", "src")),
    "bir.match_replace": Form(names={"imm": "imm_value"}, slots=("values", "src")),
    "bir.max_index_and_match_replace": Form(
        names={"imm": "imm_value"}, slots=("values", "src")
    ),
    "bir.bn_backprop": Form(slots=("src", "dy", "coefficients", "mean")),
    "bir.bn_backprop2": Form(slots=("src", "dy", "offset", "slopes", "mean")),
    "bir.bn_stats": Form(fixed={"apply_transpose": False}),
    "bir.tensor_scalar_affine_select": Form(
        names={"compare": "compare_op", "fill": "fill_value"},
        fields=(affine_pattern,),
    ),
    "bir.range_select": Form(names=_RANGE, fixed={"reduce_cmd": "Idle"}),
    "bir.range_select_reduce": _accumulating(Form(names=_RANGE), "reduce_cmd"),
    "bir.select_reduce": _accumulating(
        Form(names={"reverse": "reverse_pred"}), "accumulator_cmd"
    ),
    "bir.exponential": Form(fixed={"reduce_cmd": "Idle"}),
    "bir.exponential_reduce": _accumulating(
        Form(slots=("src", "max_value|max_value_imm", "initial|initial_imm")),
        "reduce_cmd",
    ),
    "bir.dropout": Form(names={"keep_threshold": "is_keep_threshold"}),
    "bir.collective_compute": Form(
        names={
            "kind": "cc_channel.kind",
            "op": "cc_channel.op",
            "replica_groups": "cc_channel.replica_groups",
        }
    ),
    "bir.memset": Form(fields=(memset_constant,), fixed={"mode": "Const"}),
    "bir.iota": Form(fields=(affine_pattern,)),
    "bir.copy_predicated": Form(
        names={"reverse": "reverse_pred"}, slots=("src|imm", "predicate")
    ),
    "bir.select": Form(
        slots=("predicate", "on_true|true_imm", "on_false|false_imm"),
    ),
    "bir.matmult": _MATMUL,
    "bir.matmult_mx": _MATMUL_MX,
    "bir.matmult_sparse": replace(_MATMUL, slots=("moving", "stationary", "tags")),
    "bir.tensor_reduce": Form(fields=(axis,)),
    "bir.dma_copy": Form(names=_DMA_NAMES, fields=(oob_is_error,)),
    "bir.dma_copy_cce": Form(
        names={"dge": "dge_type", "op": "cce_op"}, mode={"mode": "CCE"}
    ),
    "bir.dma_copy_replicate": Form(names=_DMA_NAMES, mode={"mode": "Replicate"}),
    "bir.dma_copy_transpose": Form(
        names=_DMA_NAMES, fields=(permutation, oob_is_error), mode={"mode": "Transpose"}
    ),
    "bir.dma_copy_gather_transpose": Form(
        names=_DMA_NAMES,
        indirection=("index",),
        fields=(permutation, oob_is_error),
        mode={"mode": "Transpose"},
    ),
    "bir.generic_indirect_load": Form(names=_DMA_NAMES, fields=(indirect_dims,)),
    "bir.generic_indirect_save": Form(names=_DMA_NAMES, fields=(indirect_dims,)),
    "bir.indirect_save_accumulate": Form(
        names=_DMA_NAMES,
        slots=("index", "src"),
        fields=(number_of_indices, entry_step),
    ),
    "dma.copy": Form("DMADescriptorCopy"),
    "dma.transpose": Form("DMADescriptorTranspose", fields=(permutation,)),
    "dma.cce": Form("DMADescriptorCCE"),
    "dma.fold": Form("DMADescriptorCCE", several=True),
    "dma.replicate": Form("DMADescriptorReplicate"),
    "dma.gather": Form("DMADescriptorCopy", indirection=("index",)),
    "dma.scatter": Form("DMADescriptorCopy", indirection=("index",)),
    "dma.gather_transpose": Form(
        "DMADescriptorTranspose", indirection=("index",), fields=(permutation,)
    ),
}


@cache
def form_of(kind: type[Operation]) -> Form:
    """The form of an operation; the plain one where the table has none."""
    found = _FORMS.get(kind.name)
    if issubclass(kind, TensorIndirect):
        indices = kind.index_names()
        return replace(found or Form(names=_DMA_NAMES), indirection=indices)
    if found is not None:
        return found
    if issubclass(kind, Descriptor):
        return Form("DMADescriptorCopy", indirection=("index",))
    return Form(names=_DMA_NAMES)


def opcode_of(kind: type[Instruction]) -> str:
    """The L2 name of an operation's class."""
    opcode = form_of(kind).opcode
    if opcode:
        return opcode
    assert issubclass(kind, BirInstruction), kind.name
    return kind.ROW.name


@cache
def documented_keys(opcode: str) -> dict[str, bool]:
    """The opcode's own keys, each with whether it is always written."""
    keys = _KEYS.get(opcode, "").split()
    found = {key.rstrip("!"): key.endswith("!") for key in keys}
    return found | dict.fromkeys(_SYNC.values(), False)


def key_of(form: Form, prop: str) -> str:
    """The key a property has, if that is documented of its opcode."""
    return form.names.get(prop) or _SYNC.get(prop, prop)


def put(found: dict[str, Json], key: str, value: Json) -> None:
    """Sets a key that may lead into an object, or to a place of an array."""
    head, _, rest = key.partition(".")
    if not rest:
        found[key] = value
        return
    if rest.isdigit():
        items = found.setdefault(head, [])
        if isinstance(items, list):
            items += [None] * (int(rest) + 1 - len(items))
            items[int(rest)] = value
        return
    inner = found.setdefault(head, {})
    if isinstance(inner, dict):
        put(inner, rest, value)


def look_up(node: Node, key: str) -> Node | None:
    """The value of a key that may lead into an object."""
    head, _, rest = key.partition(".")
    found = node.get(head)
    if found is None or not rest:
        return found
    if not rest.isdigit():
        return look_up(found, rest)
    items = found.array()
    if int(rest) >= len(items):
        found.fail(f"expected at least {int(rest) + 1} elements, got {len(items)}")
    return items[int(rest)]


@cache
def instruction_classes() -> tuple[type[Instruction], ...]:
    """The instructions of `bir` and `dma`, in the order of the dialects."""
    operations = (*Bir.operations, *Dma.operations)
    return tuple(kind for kind in operations if issubclass(kind, Instruction))


@cache
def opaque_classes() -> dict[str, type[OpaqueInstruction]]:
    """The opaque instructions by opcode."""
    return {
        kind.ROW.name: kind
        for kind in Bir.operations
        if issubclass(kind, OpaqueInstruction)
    }


@cache
def _by_opcode() -> dict[str, tuple[type[Instruction], ...]]:
    found: dict[str, tuple[type[Instruction], ...]] = {}
    for kind in instruction_classes():
        opcode = opcode_of(kind)
        found[opcode] = (*found.get(opcode, ()), kind)
    return found


def opcodes() -> tuple[str, ...]:
    """Every opcode some operation has."""
    return (*_by_opcode(), *opaque_classes())


def candidates(opcode: str) -> tuple[type[Instruction], ...]:
    """The operations of an opcode."""
    return _by_opcode().get(opcode, ())


def choose(
    opcode: str, given: dict[str, Json], is_indirect: bool
) -> type[Instruction] | None:
    """
    The operation that an opcode and its keys name by themselves.

    Of the operations whose mode the keys have, one with the most such keys, the first
    in the dialect; None where there is none.
    """
    best: type[Instruction] | None = None
    score = -1
    for kind in candidates(opcode):
        form = form_of(kind)
        present = issubclass(kind, TensorIndirect) or is_indirect == any(
            name in kind.INS for name in form.indirection
        )
        matches = all(given.get(key) == value for key, value in form.mode.items())
        matches &= all(given.get(key) in values for key, values in form.among.items())
        ins = given.get("ins")
        matches &= not form.several or (isinstance(ins, list) and len(ins) > 1)
        keys = len(form.mode) + len(form.among) + form.several
        if present and matches and keys > score:
            best, score = kind, keys
    return best
