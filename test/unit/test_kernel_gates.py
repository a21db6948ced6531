"""Every gate of `penguin` that a kernel can meet has a kernel that it refuses."""

import linecache
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from gate_audit import Trip, every_gate, recorded
from kernel_gates.case import Case

import xdsl_neuron
from xdsl_neuron.dialects import penguin
from xdsl_neuron.tracer.errors import NKIError

FAMILIES = (
    "elementwise",
    "indirection",
    "matrix",
    "memory",
    "microscaling",
    "movement",
    "movement_functional",
    "random_numbers",
    "rows",
    "searches",
    "selections",
    "system",
)
CASES: dict[str, list[Case]] = {
    family: import_module(f"kernel_gates.{family}").CASES for family in FAMILIES
}

NOT_IN_NKI = "no function of NKI makes the operation"
ONLY_IR: dict[str, tuple[str, ...]] = {
    NOT_IN_NKI: (
        "BNBackprop.coefficient_dtypes",
        "BNBackprop.coefficient_sizes",
        "BNBackprop.same_shape",
        "BNBackprop2.coefficient_dtypes",
        "BNBackprop2.coefficient_sizes",
        "BNBackprop2.same_shape",
        "BNGradients.gradient_dtypes",
        "BNGradients.gradient_sizes",
        "CollectiveRecv.peer",
        "CollectiveSend.peer",
        "Pool.pool_function",
        "Pool.pooled_shape",
        "Rand.integer_result",
        "Rand.positive_steps",
        "Rand.raw_bits",
        "Rand.state_words",
        "Replicate.equal_counts",
        "Replicate.without_mask",
        "TensorScalarConst.one_family",
        "TensorScalarConst.one_stage",
        "TensorScalarConst.same_shape",
    ),
    "the language has no argument for the field": (
        "Activation.alpha_of_relu",
        "CollectiveCompute.scratchpad",
        "CollectiveCompute.peers",
        "DevicePrint.unmasked",
        "Matmul.zero_points",
        "MatmulMx.no_replication_shift",
        "MatmulSparse.sparse_alone",
        "MatmulSparse.whole_columns",
        "RegisterInstruction.unmasked",
        "RegisterMove.wide_move",
        "Unmasked.without_mask",
        "_Collective.unmasked",
    ),
    "the language has affine masks only": (
        "Matmul.mask_can_hold",
        "TensorReduce.mask_can_hold",
    ),
    "the tracer makes what the gate checks": (
        "CollectiveCompute.all_to_all_v",
        "CollectiveCompute.metadata_columns",
        "CoreBarrier.core_list",
        "Dropout.state_words",
        "FoldedSources.constant_count",
        "FoldedSources.fold_op",
        "DynamicFor.one_register",
        "DoWhile.register_condition",
        "GlobalRankId.world",
        "IndirectInstruction.positive_limit",
        "OpenCopy.forked",
        "Rand2.state_words",
        "RegisterAlu.register_operation",
        "Rng.state_words",
        "Select.branches_given",
        "Select.same_shape",
        "SetRandState.state_words",
        "Sized.whole_blocks",
        "TensorScalarCumulative.row_dtypes",
        "Transpose.mask_of_two_dimensions",
    ),
    "the tracer marks the arguments that a kernel writes, or refuses to write them": (
        "Instruction.written_is_mutable",
    ),
    "the language refuses the call first": (
        "CoreBarrier.barrier_arch",
        "DynamicFor.constant_bounds",
        "IndirectInstruction.indexed_dimension",
        "TensorIndirect.indirect_columns",
        "TensorIndirect.indirect_without_mask",
        "Load.load_direction",
        "MatchReplace8.float_value",
        "MatmulBase.tile_given_whole",
        "OpenCopy.engine_of_hardware_dge",
        "Save.store_reduce_op",
    ),
    "on the generation without it the language uses another instruction": (
        "Matmul.transpose_arch",
        "RandGetState.state_arch",
    ),
    "it refuses nothing: it replaces the gate of a base class": (
        "DmaIndirectTranspose.direct_bounds",
    ),
}
"""Gates that no kernel meets, by the reason. Every other gate has a kernel."""

NAMES_THE_LANGUAGE = re.compile(r"\b(nl|nisa|fl|fisa|collectives)\.|\.ap\(|held\(")


def every_case() -> Iterator[object]:
    for family, cases in CASES.items():
        for number, case in enumerate(cases):
            name = case.gate or "language"
            yield pytest.param(family, case, id=f"{family}-{number}-{name}")


def refusal(case: Case) -> tuple[NKIError, list[Trip]]:
    with recorded() as trips, pytest.raises(NKIError) as raised:
        case.trace(case.wrong)
    return raised.value, trips


@pytest.mark.parametrize(("family", "case"), list(every_case()))
def test_refusal(family: str, case: Case) -> None:
    """The gate speaks at the kernel's line, with its literal; the near miss passes."""
    error, trips = refusal(case)
    assert case.literal
    assert case.literal in error.message
    # A gate that calls its base class's is the last of those that speak.
    assert [str(trip.key) for trip in trips[-1:]] == [case.gate] * bool(case.gate)
    place = error.location
    assert place is not None
    assert Path(place.file).stem == family
    assert NAMES_THE_LANGUAGE.search(linecache.getline(place.file, place.line))
    if case.right is not None:
        case.trace(case.right)


def test_every_gate_has_a_kernel() -> None:
    reachable = {
        str(key)
        for key, (_, operations) in every_gate().items()
        if any(name.startswith("penguin.") for name in operations)
    }
    tripped = {case.gate for cases in CASES.values() for case in cases if case.gate}
    explained = {gate for gates in ONLY_IR.values() for gate in gates}
    assert sorted(tripped & explained) == []
    assert sorted(tripped - reachable) == []
    assert sorted(explained - reachable) == []
    assert sorted(reachable - tripped - explained) == [], "no kernel trips these gates"


def test_operations_that_no_function_makes() -> None:
    package = Path(xdsl_neuron.__file__).parent
    builders = [*(package / "nki").rglob("*.py"), *(package / "tracer").rglob("*.py")]
    text = "\n".join(path.read_text() for path in builders)
    made = {
        operation.name
        for operation in penguin.Penguin.operations
        if f"penguin.{operation.__name__}" in text
    }
    for key, (_, operations) in every_gate().items():
        if str(key) in ONLY_IR[NOT_IN_NKI]:
            assert made.isdisjoint(operations), key
