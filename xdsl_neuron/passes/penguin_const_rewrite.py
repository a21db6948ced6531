"""`penguin-const-rewrite`: the constants a graph gave, in their shortest form."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Use
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.edges import discard
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import ContentsAttr, ImmediateAttr, TensorSpec
from xdsl_neuron.dialects.neuron.constant import Blob, Contents, Identity, Splat
from xdsl_neuron.isa import AluOp
from xdsl_neuron.passes.rebuild import kept_properties, operations_of, replace_with


@dataclass(frozen=True)
class PenguinConstRewrite(ModulePass):
    """
    Folds constants (penguin.md 6.1 `enable_const_rewrite`).

    Bytes that are an identity, or one element throughout, get that form. A constant of
    one number that is loaded whole into a tile is a memset of the tile instead. Equal
    constants of one type are one, in front of the function; unused ones go away.

    Precondition: masks as the tracer makes them (before `penguin-lower-predicates`).
    Postcondition: no two constants of a function are equal, each is used.
    """

    name = "penguin-const-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the constants of every function."""
        for function in operations_of(op, penguin.FuncOp):
            constants = operations_of(function, penguin.ConstantOp)
            for constant in constants:
                contents = recognised(constant.contents.data, constant.tensor.data)
                constant.properties["contents"] = ContentsAttr(contents)
                if isinstance(contents, Splat):
                    _fill(constant, contents)
            _share(function, constants)


def _share(function: penguin.FuncOp, constants: list[penguin.ConstantOp]) -> None:
    """One constant for equal ones, in front; none that is not used."""
    first: dict[tuple[Contents, Attribute], penguin.ConstantOp] = {}
    block = function.body.block
    for constant in constants:
        if not constant.result.uses:
            constant.detach()
            constant.erase()
            continue
        key = (constant.contents.data, constant.result.type)
        kept = first.setdefault(key, constant)
        if kept is not constant:
            constant.result.replace_all_uses_with(kept.result)
            constant.detach()
            constant.erase()
        elif constant.parent is not block:
            # What is in a loop may be used behind it once it is shared.
            front = block.first_op
            assert front is not None
            constant.detach()
            block.insert_op_before(constant, front)


def _fill(constant: penguin.ConstantOp, contents: Splat) -> None:
    """Memsets in the place of loads of a constant of one number."""
    for use in list(constant.result.uses):
        load = use.operation
        if isinstance(load, penguin.SBAtomLoadOp | penguin.DMACopyOp):
            memset = _memset(load, use, contents)
            if memset is not None:
                replace_with(load, [memset])


def _memset(
    load: penguin.SBAtomLoadOp | penguin.DMACopyOp, use: Use, contents: Splat
) -> Instruction | None:
    """The memset that does what a load does, None where there is none."""
    data = load.data()
    dst, src = data["dst"], data["src"]
    rmw = load.rmw_op if isinstance(load, penguin.DMACopyOp) else None
    whole = src.access.count == src.type.data.size
    if (
        load.operands[use.index] is not src.value
        or dst.value is src.value
        or not dst.space.on_chip
        or not whole
        or dst.dtype is not src.dtype
        or (rmw is not None and rmw.data is not AluOp.BYPASS)
    ):
        return None
    properties = kept_properties(load, "inst_name", "after", "predicates")
    properties["value"] = ImmediateAttr.of(contents.value)
    access = None if load.accesses is None else load.accesses.data[0]
    memset = penguin.MemsetOp.make(
        (dst.value,), properties, (access,), load.loop_indices()
    )
    return memset if _is_legal(memset, load) else None


def _is_legal(memset: Instruction, load: Instruction) -> bool:
    """Whether an engine may write there: a DMA starts at any partition."""
    block = load.parent
    assert block is not None
    block.insert_op_before(memset, load)
    try:
        memset.check_gates()
    except VerifyException:
        discard(memset)
        return False
    memset.detach()
    return True


def recognised(contents: Contents, spec: TensorSpec) -> Contents:
    """The short form of a constant's bytes, the bytes where there is none."""
    if not isinstance(contents, Blob) or spec.dtype.is_packed:
        return contents
    data, size = contents.data, spec.dtype.bytes
    first = data[:size]
    if data == first * spec.size:
        return _splat(first, spec) or contents
    if len(spec.shape) == 2 and spec.shape[0] == spec.shape[1]:
        row = _encoded(spec, 1) + _encoded(spec, 0) * spec.shape[0]
        if data == row * (spec.shape[0] - 1) + row[:size]:
            return Identity()
    return contents


def _splat(element: bytes, spec: TensorSpec) -> Splat | None:
    """The number an element is, where the number gives these very bytes."""
    import numpy as np

    from xdsl_neuron.numerics.casts import storage

    value = np.frombuffer(element, storage(spec.dtype))[0]
    number = int(value) if spec.dtype.is_integer else float(value)
    found = Splat(repr(number))
    # The text of a NaN has no payload.
    return found if _encoded(spec, found.value) == element else None


def _encoded(spec: TensorSpec, value: float) -> bytes:
    from xdsl_neuron.numerics.fill import constant

    return constant(spec.dtype, value).tobytes()
