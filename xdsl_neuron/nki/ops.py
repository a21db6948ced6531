"""
The operations of the language as values: `nl.add`, `nl.exp`, `op=np.maximum`.

One row each: the ALU operation and the activation function it stands for. Called on
tiles, an operation makes a new tile (`elementwise.apply`).
"""

from dataclasses import dataclass
from typing import Any, Final

from xdsl_neuron.isa import ActivationFunction as Act, AluOp
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.wrong_calls import unexpected


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """
    An operation of the language.

    `alu` is what vector instructions take as `op`, `function` what `activation` takes.
    """

    name: str
    arity: int
    alu: AluOp | None = None
    function: Act | None = None

    def __call__(self, *operands: Any, **named: Any) -> Any:
        """The operation on tiles and numbers, as a new tile: `x[, y], dtype, mask`."""
        from xdsl_neuron.nki.elementwise import apply

        names = ("x", "y")[: self.arity]
        given = dict(zip((*names, "dtype"), operands, strict=False))
        wrong = [name for name in named if name not in (*names, "dtype", "mask")]
        twice = [name for name in named if name in given]
        if wrong or twice or len(operands) > self.arity + 1:
            accepted = (*names, "dtype")
            if wrong:
                raise NKITypeError(unexpected(str(self), wrong[0], accepted, {}))
            problem = f"takes {self.arity} operands, got {len(operands)}"
            if twice:
                problem = f"got a second keyword argument '{twice[0]}'"
            accepted = ", ".join((*names, "dtype=None"))
            raise NKITypeError(f"{self} {problem}; it accepts {accepted}")
        given |= named
        values = [given[name] for name in names if name in given]
        return apply(self, values, given.get("dtype"), given.get("mask"))

    def __repr__(self) -> str:
        return f"nl.{self.name}"


def _binary(**rows: AluOp) -> list[Op]:
    return [Op(name, 2, alu) for name, alu in rows.items()]


def _unary(**rows: Act) -> list[Op]:
    return [Op(name, 1, None, function) for name, function in rows.items()]


_ROWS: Final = (
    *_binary(
        add=AluOp.ADD,
        subtract=AluOp.SUBTRACT,
        multiply=AluOp.MULT,
        divide=AluOp.DIVIDE,
        maximum=AluOp.MAX,
        minimum=AluOp.MIN,
        power=AluOp.POW,
        mod=AluOp.MOD,
        equal=AluOp.IS_EQUAL,
        not_equal=AluOp.NOT_EQUAL,
        greater=AluOp.IS_GT,
        greater_equal=AluOp.IS_GE,
        less=AluOp.IS_LT,
        less_equal=AluOp.IS_LE,
        bitwise_and=AluOp.BITWISE_AND,
        bitwise_or=AluOp.BITWISE_OR,
        bitwise_xor=AluOp.BITWISE_XOR,
        logical_and=AluOp.LOGICAL_AND,
        logical_or=AluOp.LOGICAL_OR,
        logical_xor=AluOp.LOGICAL_XOR,
        left_shift=AluOp.LOGICAL_SHIFT_LEFT,
        right_shift=AluOp.LOGICAL_SHIFT_RIGHT,
        arithmetic_shift_left=AluOp.ARITH_SHIFT_LEFT,
        arithmetic_shift_right=AluOp.ARITH_SHIFT_RIGHT,
        abs_max=AluOp.ABS_MAX,
        abs_min=AluOp.ABS_MIN,
        average=AluOp.AVERAGE,
        bypass=AluOp.BYPASS,
    ),
    *_unary(
        exp=Act.EXP,
        log=Act.LN,
        sqrt=Act.SQRT,
        sin=Act.SIN,
        arctan=Act.ARCTAN,
        tanh=Act.TANH,
        sigmoid=Act.SIGMOID,
        silu=Act.SILU,
        silu_dx=Act.DERIVATIVE_SILU,
        gelu=Act.GELU,
        gelu_dx=Act.DERIVATIVE_GELU,
        gelu_apprx_tanh=Act.GELU_APPRX_TANH,
        gelu_apprx_sigmoid=Act.GELU_APPRX_SIGMOID,
        gelu_apprx_sigmoid_dx=Act.DERIVATIVE_GELU_APPRX_SIGMOID,
        softplus=Act.SOFTPLUS,
        mish=Act.MISH,
        relu=Act.RELU,
        erf=Act.ERF,
        erf_dx=Act.DERIVATIVE_ERF,
        square=Act.SQUARE,
        sign=Act.SIGN,
        is_finite=Act.IS_FINITE,
        identity=Act.IDENTITY,
    ),
    Op("fmod", 2),
    Op("prelu", 1, None, Act.PRELU),
    Op("rsqrt", 1, AluOp.RSQRT, Act.RSQRT),
    Op("abs", 1, AluOp.ABS, Act.ABS),
    Op("reciprocal", 1, None, Act.RECIPROCAL),
    Op("copy", 1, AluOp.BYPASS, Act.COPY),
    Op("invert", 1, AluOp.BITWISE_NOT),
    Op("negative", 1),
    Op("logical_not", 1),
)

OPS: Final = {row.name: row for row in _ROWS}
"""Every operation by its name in the language."""

# Names NumPy's functions and older releases have for the same operations.
_ALIASES: Final = {
    "true_divide": "divide",
    "remainder": "mod",
    "max": "maximum",
    "amax": "maximum",
    "min": "minimum",
    "amin": "minimum",
    "sum": "add",
    "mean": "average",
    "prod": "multiply",
    "all": "logical_and",
    "any": "logical_or",
    "absolute": "abs",
    "expit": "sigmoid",
    "bitwise_not": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "logical_shift_left": "left_shift",
    "logical_shift_right": "right_shift",
    "float_power": "power",
    "subtract": "subtract",
}


def is_op(value: object) -> bool:
    """Whether `as_op` knows a NumPy function."""
    name = getattr(value, "__name__", "")
    return _ALIASES.get(name, name) in OPS


def as_op(value: object, what: str = "op") -> Op:
    """The operation a value is or names (an `nl` operation, a NumPy function)."""
    if isinstance(value, Op):
        return value
    name = value if isinstance(value, str) else getattr(value, "__name__", None)
    found = None if name is None else OPS.get(_ALIASES.get(name, name))
    if found is None:
        raise NKITypeError(
            f"`{what}` is {value!r}, expected an operation such as nl.add"
        )
    return found


def as_alu(value: object, api: str, what: str = "op") -> AluOp:
    """The ALU operation of a value; the message names the instruction."""
    op = as_op(value, what)
    if op.name == "fmod":
        raise NKIValueError(
            f"{op} is not supported in '{api}': the ALU's remainder has the sign of "
            "the divisor; use nl.mod"
        )
    if op.alu is None:
        raise NKIValueError(f"{op} is not supported in '{api}'")
    return op.alu


def as_function(value: object, api: str) -> Act:
    """The activation function of a value; the message names the instruction."""
    op = as_op(value)
    if op.function is None:
        raise NKIValueError(f"{op} is not supported in '{api}'")
    return op.function
