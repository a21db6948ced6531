"""`penguin-lower-broadcast`: copies of one partition to many by the tensor engine."""

from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import Operand
from xdsl_neuron.dialects.neuron import (
    Access,
    EngineAttr,
    ImmediateAttr,
    MatmulAccumulateAttr,
    Pair,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import Engine, MatmulAccumulate, Space
from xdsl_neuron.passes.rebuild import (
    insert_before,
    kept_properties,
    located,
    operations_of,
    replace_with,
)

_DTYPES: Final = (DType.FLOAT32, DType.BFLOAT16, DType.FLOAT16)
_COLUMNS: Final = Arch.psum_bank_bytes // DType.FLOAT32.bytes


@dataclass(frozen=True)
class PenguinLowerBroadcast(ModulePass):
    """
    Moves partition broadcasts to the tensor engine (penguin.md 8, `legalize_pe_insts`).

    The documents give the pass's name and its place only; this is the transformation
    that public kernels write by hand: a row of ones is the stationary operand, so each
    row of the result is one product of the data with 1. A copy whose source steps by 0
    over partitions becomes, for each bank of columns, a matmul and a copy out of PSUM.
    It is not in a pipeline: the vector engine reads such a source too, and a matmul
    turns -0 into 0 as its sum starts from 0.

    A copy of another type than fp32, bf16 and fp16, out of PSUM, under a mask, or of
    columns that are not one stride stays as it is.

    Precondition: none.
    Postcondition: no copy that could be one is a broadcast of partitions.
    """

    name = "penguin-lower-broadcast"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers the broadcasts of every function."""
        for function in operations_of(op, penguin.FuncOp):
            ones = _Ones(function.body.block)
            for copy in operations_of(function, penguin.TensorCopyOp):
                new = _lowered(copy, ones)
                if new is not None:
                    replace_with(copy, new)


class _Ones:
    """A row of ones for each element type of a function, made at its front."""

    def __init__(self, block: Block) -> None:
        self.anchor = block.first_op
        self.rows: dict[DType, SSAValue] = {}

    def row(self, dtype: DType, origin: penguin.TensorCopyOp) -> SSAValue:
        if dtype not in self.rows:
            assert self.anchor is not None, "a function with a copy is not empty"
            tile = penguin.AllocOp.make(
                TensorType.of((1, Arch.sbuf_partitions), dtype, Space.SBUF), "ones"
            )
            fill = penguin.MemsetOp.make(
                [tile.result], {"value": ImmediateAttr.of(1.0)}
            )
            insert_before(self.anchor, [located(new, origin) for new in (tile, fill)])
            self.rows[dtype] = tile.result
        return self.rows[dtype]


def _lowered(copy: penguin.TensorCopyOp, ones: _Ones) -> list[Operation] | None:
    data = copy.data()
    src, dst = data["src"], data["dst"]
    step, partitions = src.access.pairs[0]
    if copy.has_indices or copy.masks():
        return None
    if step or partitions == 1 or src.space is not Space.SBUF:
        return None
    columns, rows = _columns(src), _columns(dst)
    if src.dtype not in _DTYPES or columns is None or rows is None:
        return None
    row = ones.row(src.dtype, copy)
    new: list[Operation] = []
    total = columns[1]
    for start in range(0, total, _COLUMNS):
        count = min(_COLUMNS, total - start)
        read = _part(src, (1, 1), columns, start, count)
        write = _part(dst, dst.access.pairs[0], rows, start, count)
        new += _chunk(copy, row, (read, write), partitions)
    new[-1].properties |= kept_properties(copy, "inst_name")
    return new


def _columns(operand: Operand) -> Pair | None:
    """The free elements as one (step, num); None where they are no one stride."""
    free = Pattern(0, operand.access.pairs[1:]).normalise().pairs
    if not free:
        return (1, 1)
    return free[0] if len(free) == 1 else None


def _part(
    operand: Operand, partitions: Pair, columns: Pair, start: int, count: int
) -> Access:
    access, (step, _) = operand.access, columns
    return Access(
        access.offset + start * step,
        (partitions, (step, count)),
        access.partition,
        access.dtype,
    )


def _chunk(
    copy: penguin.TensorCopyOp,
    ones: SSAValue,
    accesses: tuple[Access, Access],
    partitions: int,
) -> list[Operation]:
    """One bank of columns: by the tensor engine into PSUM, and out of it."""
    read, write = accesses
    data, indices = copy.data(), copy.loop_indices()
    count = prod(num for _, num in read.pairs[1:])
    wide = penguin.AllocOp.make(
        TensorType.of((partitions, count), DType.FLOAT32, Space.PSUM), "broadcast"
    )
    properties: dict[str, Attribute] = {
        "engine": EngineAttr(Engine.PE),
        "accumulate": MatmulAccumulateAttr(MatmulAccumulate.OVERWRITE),
        **kept_properties(copy, "after"),
    }
    return [
        wide,
        penguin.MatMulOp.make(
            [wide.result, ones, data["src"].value],
            properties,
            [None, Access(Affine(0), ((1, 1), (1, partitions)), Affine(0)), read],
            indices,
        ),
        penguin.TensorCopyOp.make(
            [data["dst"].value, wide.result],
            kept_properties(copy, "after", "engine"),
            [write, None],
            indices,
        ),
    ]
