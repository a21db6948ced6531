"""
Properties whose documented key holds something other than their value.

A field encodes a property into documented keys and decodes it from them. The writer
decodes what it has written; where that is not the property, the property itself goes
into the extension beside it. So a field may encode only part of the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects.instruction_text import integer
from xdsl_neuron.dialects.neuron import (
    AffineAttr,
    AluOpAttr,
    ImmediateAttr,
    MatmulAccumulateAttr,
    OobModeAttr,
)
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine, FloorDiv, Index, Lane, Mod
from xdsl_neuron.isa import AluOp, MatmulAccumulate, OobMode, TransposeOp
from xdsl_neuron.json.bits import decode, encode
from xdsl_neuron.json.document import Json, Node
from xdsl_neuron.json.values import ReadAffine, WriteAffine

Keys = dict[str, Json]
Operands = dict[str, Operand]


@dataclass(frozen=True)
class Field:
    """
    A property, its keys, and both directions.

    `encode` gets the property (None where absent) and returns what it can say of it;
    `decode` gets the instruction with at least one of the keys. A field without a
    property is derived from the operands: written, and compared when read.
    """

    prop: str | None
    keys: tuple[str, ...]
    encode: Callable[[Attribute | None, Operands, WriteAffine], Keys]
    decode: Callable[[Node, Operands, ReadAffine], Attribute | None] | None = None


AXES = ("X", "XY", "XYZ", "XYZW")
"""`AxisListType` by the number of folded dimensions (bir.md 1.16)."""


def _axis_to_json(value: Attribute | None, data: Operands, affine: WriteAffine) -> Keys:
    count = len(value.get_values()) if isinstance(value, DenseArrayBase) else 0
    return {"axis": AXES[count - 1]} if 0 < count <= len(AXES) else {}


def _axis_from_json(node: Node, data: Operands, affine: ReadAffine) -> Attribute | None:
    found = node.child("axis")
    if found.value not in AXES:
        found.fail(f"expected one of {', '.join(AXES)}, got {found.value!r}")
    count, rank = AXES.index(found.string()) + 1, len(data["src"].shape)
    if count >= rank:
        found.fail(
            f"Input AP dimension should be larger than num_dims, which is {count}"
        )
    return DenseArrayBase.from_list(i64, list(range(rank - count, rank)))


axis = Field("axes", ("axis",), _axis_to_json, _axis_from_json)


POOL_FUNCTIONS = {"Max": AluOp.MAX, "Avg": AluOp.AVERAGE}
"""`PoolFunctionType` (bir.md 1.16)."""


def _pool_to_json(value: Attribute | None, data: Operands, affine: WriteAffine) -> Keys:
    op = value.data if isinstance(value, AluOpAttr) else None
    found = [name for name, member in POOL_FUNCTIONS.items() if member is op]
    return {"func": found[0]} if found else {}


def _pool_from_json(node: Node, data: Operands, affine: ReadAffine) -> Attribute | None:
    found = node.child("func")
    member = POOL_FUNCTIONS.get(found.string())
    if member is None:
        found.fail(f"Unrecognized PoolFunctionType {found.value}, expected Max or Avg")
    return AluOpAttr(member)


pool_function = Field("op", ("func",), _pool_to_json, _pool_from_json)


def _permutation_to_json(
    value: Attribute | None, data: Operands, affine: WriteAffine
) -> Keys:
    axes = value.get_values() if isinstance(value, DenseArrayBase) else ()
    for member in TransposeOp:
        if member.permutation == axes:
            return {"transpose_op": member.value}
    return {}


def _permutation_from_json(
    node: Node, data: Operands, affine: ReadAffine
) -> Attribute | None:
    member = node.child("transpose_op").member(TransposeOp)
    return DenseArrayBase.from_list(i64, list(member.permutation))


permutation = Field(
    "axes", ("transpose_op",), _permutation_to_json, _permutation_from_json
)


def _constant_to_json(
    value: Attribute | None, data: Operands, affine: WriteAffine
) -> Keys:
    if not isinstance(value, ImmediateAttr):
        return {}
    bits = encode(data["dst"].dtype, value.value)
    return {} if bits is None else {"constant": bits}


def _constant_from_json(
    node: Node, data: Operands, affine: ReadAffine
) -> Attribute | None:
    found = node.child("constant")
    dtype = data["dst"].dtype
    number = decode(dtype, found.integer(0, (1 << 64) - 1))
    if number is None:
        found.fail(f"{found.value} is not the pattern of one {dtype.bir_name} number")
    return ImmediateAttr.of(number)


memset_constant = Field("value", ("constant",), _constant_to_json, _constant_from_json)


def _pattern_to_json(
    value: Attribute | None, data: Operands, affine: WriteAffine
) -> Keys:
    if not isinstance(value, AffineAttr):
        return {}
    expression, shape = value.data, data["dst"].shape
    steps = [0] * len(shape)
    base = Affine(expression.constant)
    for atom, coefficient in expression.terms:
        match atom:
            case Lane(dim):
                if dim >= len(steps):
                    return {}
                steps[dim] = coefficient
            case FloorDiv(operand, _) | Mod(operand, _) if operand.lanes:
                return {}
            case Index() | FloorDiv() | Mod():
                base = base + Affine(0, ((atom, coefficient),))
    start: Json = base.constant if base.is_constant else affine(base)
    pattern: Json = [[step, num] for step, num in zip(steps, shape, strict=True)]
    return {"base": start, "pattern": pattern}


def _pattern_from_json(
    node: Node, data: Operands, affine: ReadAffine
) -> Attribute | None:
    total = affine(node.child("base"))
    shape = data["dst"].shape
    pairs = node.child("pattern").array()
    if len(pairs) != len(shape):
        node.child("pattern").fail(
            f"{len(pairs)} steps for the {len(shape)} dimensions of the output"
        )
    for dim, (pair, extent) in enumerate(zip(pairs, shape, strict=True)):
        numbers = pair.integers()
        if len(numbers) != 2 or numbers[1] != extent:
            pair.fail(f"expected [step, {extent}], got {numbers}")
        total = total + Affine.lane(dim) * numbers[0]
    multiplier = node.get("channel_multiplier")
    if multiplier is not None:
        total = total + Affine.lane(0) * multiplier.integer()
    return AffineAttr(total)


affine_pattern = Field(
    "value", ("base", "pattern"), _pattern_to_json, _pattern_from_json
)


def _flag_to_json(value: Attribute | None, data: Operands, affine: WriteAffine) -> Keys:
    auto = MatmulAccumulate.AUTO
    member = value.data if isinstance(value, MatmulAccumulateAttr) else auto
    return {"accumulation_flag": member.number}


def _flag_from_json(node: Node, data: Operands, affine: ReadAffine) -> Attribute | None:
    found = node.child("accumulation_flag")
    flag = found.integer()
    if flag not in (0, 1, 2, 3, 4, 6):
        found.fail(f"expected one of 0, 1, 2, 3, 4, 6, got {flag}")
    # STOP (2) has no effect on the result (bir.md 10.2).
    return MatmulAccumulateAttr(MatmulAccumulate.from_number(flag & ~2))


accumulation_flag = Field(
    "accumulate", ("accumulation_flag",), _flag_to_json, _flag_from_json
)


def _oob_to_json(value: Attribute | None, data: Operands, affine: WriteAffine) -> Keys:
    skips = isinstance(value, OobModeAttr) and value.data is OobMode.SKIP
    return {"oob_is_err": not skips}


def _oob_from_json(node: Node, data: Operands, affine: ReadAffine) -> Attribute | None:
    is_error = node.child("oob_is_err").boolean()
    return OobModeAttr(OobMode.ERROR if is_error else OobMode.SKIP)


oob_is_error = Field("oob", ("oob_is_err",), _oob_to_json, _oob_from_json)


INDIRECT_DIMS = ("W", "Z", "Y", "X")


def _dims_to_json(value: Attribute | None, data: Operands, affine: WriteAffine) -> Keys:
    number = 0 if value is None else getattr(getattr(value, "value", None), "data", 9)
    return {"indirect_dims": [INDIRECT_DIMS[number]]} if 0 <= number < 4 else {}


def _dims_from_json(node: Node, data: Operands, affine: ReadAffine) -> Attribute | None:
    found = node.child("indirect_dims").array()
    if len(found) != 1:
        node.child("indirect_dims").fail(
            "number of indirect dims must match number of indices vector, which is 1"
        )
    if found[0].value not in INDIRECT_DIMS:
        found[0].fail(f"expected one of {', '.join(INDIRECT_DIMS)}")
    return integer(INDIRECT_DIMS.index(found[0].string()))


indirect_dims = Field(
    "indirect_dim", ("indirect_dims",), _dims_to_json, _dims_from_json
)


def _count_to_json(
    value: Attribute | None, data: Operands, affine: WriteAffine
) -> Keys:
    return {"num_indices": data["index"].access.count}


def _step_to_json(value: Attribute | None, data: Operands, affine: WriteAffine) -> Keys:
    pairs = data["dst"].access.pairs
    return {"entry_step_elements": pairs[0][0]} if pairs else {}


number_of_indices = Field(None, ("num_indices",), _count_to_json)
entry_step = Field(None, ("entry_step_elements",), _step_to_json)

IMMEDIATE_DTYPES = (
    DType.UINT8,
    DType.INT8,
    DType.UINT16,
    DType.BFLOAT16,
    DType.FLOAT16,
    DType.INT16,
    DType.UINT32,
    DType.INT32,
    DType.FLOAT32,
    DType.UINT64,
    DType.INT64,
)
"""Element types of an immediate (bir.md 3.3)."""
