"""Operations on whole tiles: `nl.add(x, y)`, `nl.exp(x)`, tile operators."""

from collections.abc import Sequence
from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import ActivationFunction, AluOp, Space
from xdsl_neuron.nki.arguments import as_mask, as_operand
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.nki.ops import Op
from xdsl_neuron.nki.trace import session
from xdsl_neuron.nki.truth import computed, made_as
from xdsl_neuron.tracer.compute import COMPARISONS, promote_type
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import Mask, broadcast_tiles
from xdsl_neuron.tracer.release_warnings import warn_of_release
from xdsl_neuron.tracer.tiles import Number
from xdsl_neuron.tracer.views import View


def apply(op: Op, operands: Sequence[Any], dtype: Any, mask: Any) -> Any:
    """An operation of the language on tiles and numbers; numbers alone stay numbers."""
    if len(operands) != op.arity:
        raise NKITypeError(f"{op} takes {op.arity} operands, got {len(operands)}")
    values = [
        as_operand(value, "x" if at == 0 else "y") for at, value in enumerate(operands)
    ]
    kind = None if dtype is None else as_dtype(dtype)
    clip = as_mask(mask)
    found = _applied(op, values, kind, clip)
    return found if dtype is None else made_as(found, dtype)


def _applied(
    op: Op, values: list[View | Number], kind: DType | None, clip: Mask | None
) -> View:
    trace = session()
    if not any(isinstance(value, View) for value in values):
        raise NKITypeError(f"{op} needs a tile among its operands, got {values}")
    if not trace.masks_allowed:
        _check_later_releases(op, values)
    if op.name == "fmod":
        return truncated_remainder(values[0], values[1], kind, clip)
    if op.arity == 2 and op.alu is not None:
        alu = op.alu
        if alu is AluOp.LOGICAL_SHIFT_RIGHT:
            shifted = values[0] if isinstance(values[0], View) else values[1]
            assert isinstance(shifted, View)
            alu = shift_right(shifted.element_type)
        kind = truth_type(alu, kind, values)
        return binary(alu, values[0], values[1], kind, clip)
    tile = values[0]
    assert isinstance(tile, View)
    if op.name == "reciprocal":
        return trace.reciprocal(tile, clip, kind)
    if op.name == "copy":
        made = trace.tensor_copy(tile, mask=clip, dtype=kind)
        return made_as(made, None, tile)
    if op.name == "negative":
        return trace.tensorscalar(tile, AluOp.MULT, -1.0, mask=clip, dtype=kind)
    if op.name == "logical_not":
        return logical_not(tile, kind, clip)
    if op.name == "invert":
        return inverted(tile, kind, clip)
    if op.name == "sin":
        return sine(tile, kind, clip)
    if op.function is None:
        raise NKIValueError(f"{op} is not supported on tiles")
    return trace.activation(op.function, tile, mask=clip, dtype=kind)


def truth_type(
    op: AluOp, dtype: DType | None, operands: Sequence[View | Number]
) -> DType | None:
    """
    What a truth value is held in: `dtype`, else what the tiles have.

    None where the operation's own default holds; that of generation 0.1 is bool
    (nki.language.less of 2.23 and of 2.29).
    """
    if dtype is not None or op not in COMPARISONS or session().masks_allowed:
        return dtype
    return promote_type(*(each for each in operands if isinstance(each, View)))


def logical_not(
    tile: View, dtype: DType | None = None, mask: Mask | None = None
) -> View:
    """1 where the tile is 0."""
    kind = truth_type(AluOp.IS_EQUAL, dtype, (tile,)) or DType.UINT8
    made = session().tensorscalar(tile, AluOp.IS_EQUAL, 0.0, mask=mask, dtype=kind)
    return computed(made, AluOp.IS_EQUAL)


def inverted(tile: View, dtype: DType | None = None, mask: Mask | None = None) -> View:
    """Every bit changed; the logical not of truth values of generation 0.1."""
    trace = session()
    if tile.is_truth and trace.masks_allowed:
        return logical_not(tile, dtype, mask)
    return trace.tensorscalar(tile, AluOp.BITWISE_XOR, -1, mask=mask, dtype=dtype)


_NOT_COMPILED = {
    "divide": "multiply by nl.reciprocal(y)",
    "fmod": "use nisa.tensor_tensor or nisa.tensor_scalar of a quotient",
    "mod": "use nisa.tensor_tensor or nisa.tensor_scalar of a quotient",
}
"""Operations of the simulator that 2.29 to 2.32 do not compile; what to write."""


def _check_later_releases(op: Op, values: Sequence[View | Number]) -> None:
    """What the notes of releases 0.3 to 0.6 (2.29 to 2.32) say of `nl` operations."""
    tiles = [value for value in values if isinstance(value, View)]
    if op.name == "rsqrt" and tiles[0].space is Space.PSUM:
        raise NKITypeError(
            f"nl.rsqrt takes no tile in PSUM from release 0.5 on, got {tiles[0]!r}; "
            "use nisa.activation(op=nl.rsqrt), or copy the tile with nisa.tensor_copy"
        )
    if op.name in _NOT_COMPILED:
        warn_of_release(
            f"{op} runs in simulation, but is not supported by releases 0.3 to 0.6 on "
            f"the device; {_NOT_COMPILED[op.name]}"
        )
    elif op.name == "power" and not isinstance(values[1], View):
        warn_of_release(
            "nl.power with a number as exponent is not supported by releases 0.3 to "
            "0.6 on the device; give a tile, or use nisa.tensor_scalar(op0=nl.power)"
        )
    if len({tile.shape for tile in tiles}) > 1:
        first, second = tiles
        warn_of_release(
            f"{op} of shapes {first.shape} and {second.shape}: releases 0.3 to 0.6 do "
            "not broadcast operands of nl operations on the device; use "
            "nl.broadcast_to, or nisa.tensor_scalar for one value a partition"
        )


def shift_right(dtype: DType) -> AluOp:
    """What shifts a tile to the right: signed elements keep their sign, as NumPy's."""
    if dtype.is_integer and dtype.is_signed:
        return AluOp.ARITH_SHIFT_RIGHT
    return AluOp.LOGICAL_SHIFT_RIGHT


def absolute(tile: View, dtype: DType | None = None, mask: Mask | None = None) -> View:
    """|x| on an engine that has the ALU's operations."""
    return session().tensorscalar(tile, AluOp.ABS, 0.0, mask=mask, dtype=dtype)


def truncated_remainder(
    x: View | Number, y: View | Number, dtype: DType | None, mask: Mask | None
) -> View:
    """
    The remainder with the sign of x, `np.fmod`: the ALU's `mod` has that of y.

    |x| mod |y|, which has no sign, takes that of x: -1 where x < 0, else 1.
    """
    trace = session()
    kind = trace.result_type(AluOp.MOD, dtype, *(v for v in (x, y)))
    wide = DType.FLOAT32
    shape = broadcast_tiles(*(v.shape for v in (x, y) if isinstance(v, View)))

    def fitting(tile: View) -> Mask | None:
        """The mask, where it is over this operand's dimensions too."""
        return mask if tile.shape == shape else None

    size_x = absolute(x, wide, fitting(x)) if isinstance(x, View) else abs(x)
    size_y = absolute(y, wide, fitting(y)) if isinstance(y, View) else abs(y)
    rest = binary(AluOp.MOD, size_x, size_y, wide, mask)
    if not isinstance(x, View):
        return binary(AluOp.MULT, rest, 1.0 if x >= 0 else -1.0, kind, mask)
    own = fitting(x)
    sign = trace.tensorscalar(
        x, AluOp.IS_GE, 0.0, mask=own, dtype=wide, op1=AluOp.MULT, scalar1=2.0
    )
    sign = trace.tensorscalar(sign, AluOp.SUBTRACT, 1.0, mask=own, dtype=wide)
    return binary(AluOp.MULT, rest, sign, kind, mask)


_PI = 3.141592653589793


def sine(
    tile: View, dtype: DType | None, mask: Mask | None, shift: float = 0.0
) -> View:
    """
    sin(x + shift): the argument brought into [-pi, pi] first (nki.md 5.4).

    The hardware function is not periodic; there is no cosine (penguin.md 7).
    """
    trace = session()
    turned = trace.tensorscalar(
        tile,
        AluOp.ADD,
        _PI + shift,
        mask=mask,
        dtype=DType.FLOAT32,
        op1=AluOp.MOD,
        scalar1=2 * _PI,
    )
    # What rounding leaves outside of a large argument's remainder comes in here.
    centred = trace.tensorscalar(
        turned,
        AluOp.MOD,
        2 * _PI,
        mask=mask,
        dtype=DType.FLOAT32,
        op1=AluOp.SUBTRACT,
        scalar1=_PI,
    )
    return trace.activation(
        ActivationFunction.SIN, centred, mask=mask, dtype=dtype or tile.element_type
    )


_COMMUTED = {
    AluOp.IS_GT: AluOp.IS_LT,
    AluOp.IS_LT: AluOp.IS_GT,
    AluOp.IS_GE: AluOp.IS_LE,
    AluOp.IS_LE: AluOp.IS_GE,
}


def binary(
    op: AluOp,
    x: View | Number,
    y: View | Number,
    dtype: DType | None = None,
    mask: Mask | None = None,
    dst: View | None = None,
) -> View:
    """`x op y` as a new tile, or in `dst`; a number becomes an immediate."""
    trace, fresh = session(), dtype is None and dst is None
    if isinstance(x, View) and isinstance(y, View):
        if dst is not None:
            x, y = trace.combine_tiles(x, y)
            if x.space is Space.PSUM and y.space is Space.PSUM:
                y = trace.tensor_copy(y)
        made = trace.tensortensor(op, x, y, mask, dtype, dst=dst)
        return computed(made, op, x, y) if fresh else made
    tile, number = (x, y) if isinstance(x, View) else (y, x)
    assert isinstance(tile, View)
    assert not isinstance(number, View)
    kind = trace.result_type(op, dtype, tile, number)
    if op.is_bitvec and dtype is None:
        kind = tile.element_type  # a number is as many bits as it meets
    reverse = tile is y
    if reverse and op in _COMMUTED:
        op, reverse = _COMMUTED[op], False
    value = number if op.is_bitvec else float(number)
    made = trace.tensorscalar(tile, op, value, reverse, mask, kind, dst=dst)
    return computed(made, op, tile, number) if fresh else made
