"""`penguin-lower-transpose`: transposes of the tensor engine become matmuls."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.analysis.frame import renumbered
from xdsl_neuron.arch import Arch
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.neuron import (
    Access,
    EngineAttr,
    Identity,
    MatmulAccumulateAttr,
    PredicatesAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import Engine, MatmulAccumulate, Space
from xdsl_neuron.passes.rebuild import (
    kept_properties,
    located,
    operations_of,
    replace_with,
)


@dataclass(frozen=True)
class PenguinLowerTranspose(ModulePass):
    """
    Turns each transpose on the tensor engine into a matmul with an identity.

    From gen3 the array has a transpose mode that moves bits; gen2 multiplies the data
    by the identity (nki.md 5.5). The identity is loaded once, as int8, at the front
    of the function, and copied once to each element type used (penguin.md 6.1).

    Precondition: the module names its target; `penguin-lower-predicates`.
    Postcondition: every `penguin.transpose` left runs on the vector engine.
    """

    name = "penguin-lower-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers the transposes of every function."""
        for function in operations_of(op, penguin.FuncOp):
            transposes = [
                transpose
                for transpose in operations_of(function, penguin.TransposeOp)
                if not transpose.on_vector_engine
            ]
            identities = Identities(function.body.block)
            for transpose in transposes:
                _lower(transpose, identities)


class Identities:
    """The identity tiles of one function, made at its front when first asked for."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.anchor = block.first_op
        self.tiles: dict[DType, SSAValue] = {}
        self.size = Arch.sbuf_partitions

    def tile(self, dtype: DType, origin: penguin.TransposeOp) -> SSAValue:
        """The identity in SBUF with this element type."""
        if dtype not in self.tiles:
            loaded = self._loaded(origin)
            if dtype is not DType.INT8:
                self.tiles[dtype] = self._copied(loaded, dtype, origin)
        return self.tiles[dtype]

    def _loaded(self, origin: penguin.TransposeOp) -> SSAValue:
        if DType.INT8 not in self.tiles:
            shape = (self.size, self.size)
            constant = penguin.ConstantOp.make(
                Identity(), TensorType.of(shape, DType.INT8, Space.HBM), "identity"
            )
            tile = self._alloc(DType.INT8, "identity_i8")
            load = penguin.SBAtomLoadOp.make([tile.results[0], constant.results[0]], {})
            self._insert(origin, constant, tile, load)
            self.tiles[DType.INT8] = tile.results[0]
        return self.tiles[DType.INT8]

    def _copied(
        self, loaded: SSAValue, dtype: DType, origin: penguin.TransposeOp
    ) -> SSAValue:
        tile = self._alloc(dtype, f"identity_{dtype.ir_name}")
        copy = penguin.TensorCopyOp.make([tile.results[0], loaded], {})
        self._insert(origin, tile, copy)
        return tile.results[0]

    def _alloc(self, dtype: DType, hint: str) -> penguin.AllocOp:
        kind = TensorType.of((self.size, self.size), dtype, Space.SBUF)
        return penguin.AllocOp.make(kind, hint)

    def _insert(
        self,
        origin: penguin.TransposeOp,
        *operations: penguin.ConstantOp
        | penguin.AllocOp
        | penguin.SBAtomLoadOp
        | penguin.TensorCopyOp,
    ) -> None:
        assert self.anchor is not None, "a function with a transpose is not empty"
        for operation in operations:
            self.block.insert_op_before(located(operation, origin), self.anchor)


def _lower(transpose: penguin.TransposeOp, identities: Identities) -> None:
    arch = target_of(transpose)
    if arch is None:
        raise DiagnosticError(
            transpose, "cannot be lowered without a target: give the module one"
        )
    data = transpose.data()
    src, dst = data["src"], data["dst"]
    identity = identities.tile(src.dtype, transpose)
    rows = src.partitions
    square = Access(Affine(0), ((1, rows), (1, rows)), Affine(0))
    properties: dict[str, Attribute] = {
        "engine": EngineAttr(Engine.PE),
        "accumulate": MatmulAccumulateAttr(MatmulAccumulate.OVERWRITE),
    }
    if transpose.masks():
        properties["predicates"] = _predicates(transpose)
    if arch.has_exact_pe_transpose:
        properties["is_transpose"] = UnitAttr()
    last = kept_properties(transpose, "inst_name", "after")
    new: list[penguin.AllocOp | penguin.MatMulOp | penguin.TensorCopyOp] = []
    target, access = dst.value, dst.access
    narrow = not arch.has_exact_pe_transpose and dst.dtype is not DType.FLOAT32
    if narrow:
        # The array drains fp32 (bir.md 8.5 psum_legalization); a copy narrows it.
        kind = TensorType.of(dst.shape, DType.FLOAT32, Space.PSUM)
        wide = penguin.AllocOp.make(kind, "transposed")
        target, access = wide.results[0], None
        new.append(wide)
        properties |= kept_properties(transpose, "after")
    else:
        properties |= last
    new.append(
        penguin.MatMulOp.make(
            [target, src.value, identity],
            properties,
            [access, src.access, square],
            transpose.loop_indices(),
        )
    )
    if narrow:
        if transpose.masks():
            masks = tuple(renumbered(p, (1, 0)) for p in transpose.masks())
            last["predicates"] = PredicatesAttr(masks)
        new.append(
            penguin.TensorCopyOp.make(
                [dst.value, target],
                last,
                [dst.access, None],
                transpose.loop_indices(),
            )
        )
    replace_with(transpose, new)


def _predicates(transpose: penguin.TransposeOp) -> PredicatesAttr:
    """
    The mask over a matmul's lanes (k, m, n) instead of the source's (p, f).

    A row p is a row k of both operands and a column n of the identity; the data's
    columns are m.
    """
    data = transpose.data()
    if any(len(operand.shape) != 2 for operand in data.values()):
        raise DiagnosticError(
            transpose, "is masked, which takes a source and destination of rank 2"
        )
    found: list[Affine] = []
    for predicate in transpose.masks():
        found.append(renumbered(predicate, (0, 1)))
        if 0 in predicate.lanes:
            found.append(renumbered(predicate, (2, 1)))
    return PredicatesAttr(tuple(found))
