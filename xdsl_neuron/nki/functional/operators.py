"""
Python's operators on tiles: each is an operation of the language on whole tiles.

Binary operators make a new tile; augmented ones write the tile itself, as NumPy's do.
"""

from abc import abstractmethod
from typing import Any, NoReturn, Self

from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.elementwise import absolute, binary, inverted, shift_right
from xdsl_neuron.nki.ops import as_op, is_op
from xdsl_neuron.nki.tensor import LanguageTensor
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.views import View


class Operators(LanguageTensor):
    """The operators, on top of one way to compute and one to compute in place."""

    __slots__ = ()

    @abstractmethod
    def _binary(self, op: AluOp, other: Any, reverse: bool = False) -> Any:
        """`self op other` as a new tile."""

    @abstractmethod
    def _update(self, op: AluOp, other: Any) -> Self:
        """`self op= other`: the tile itself is written."""

    @property
    def _shift_right(self) -> AluOp:
        return shift_right(self.element_type)

    def __add__(self, other: Any) -> Any:
        return self._binary(AluOp.ADD, other)

    def __radd__(self, other: Any) -> Any:
        return self._binary(AluOp.ADD, other, True)

    def __iadd__(self, other: Any) -> Self:
        return self._update(AluOp.ADD, other)

    def __sub__(self, other: Any) -> View:
        return self._binary(AluOp.SUBTRACT, other)

    def __rsub__(self, other: Any) -> View:
        return self._binary(AluOp.SUBTRACT, other, True)

    def __isub__(self, other: Any) -> Self:
        return self._update(AluOp.SUBTRACT, other)

    def __mul__(self, other: Any) -> View:
        return self._binary(AluOp.MULT, other)

    def __rmul__(self, other: Any) -> View:
        return self._binary(AluOp.MULT, other, True)

    def __imul__(self, other: Any) -> Self:
        return self._update(AluOp.MULT, other)

    def __truediv__(self, other: Any) -> View:
        return self._binary(AluOp.DIVIDE, other)

    def __rtruediv__(self, other: Any) -> View:
        return self._binary(AluOp.DIVIDE, other, True)

    def __itruediv__(self, other: Any) -> Self:
        return self._update(AluOp.DIVIDE, other)

    def __pow__(self, other: Any) -> View:
        return self._binary(AluOp.POW, other)

    def __rpow__(self, other: Any) -> View:
        return self._binary(AluOp.POW, other, True)

    def __ipow__(self, other: Any) -> Self:
        return self._update(AluOp.POW, other)

    def __mod__(self, other: Any) -> View:
        return self._binary(AluOp.MOD, other)

    def __rmod__(self, other: Any) -> View:
        return self._binary(AluOp.MOD, other, True)

    def __imod__(self, other: Any) -> Self:
        return self._update(AluOp.MOD, other)

    def __and__(self, other: Any) -> View:
        return self._binary(AluOp.BITWISE_AND, other)

    def __rand__(self, other: Any) -> View:
        return self._binary(AluOp.BITWISE_AND, other, True)

    def __iand__(self, other: Any) -> Self:
        return self._update(AluOp.BITWISE_AND, other)

    def __or__(self, other: Any) -> View:
        return self._binary(AluOp.BITWISE_OR, other)

    def __ror__(self, other: Any) -> View:
        return self._binary(AluOp.BITWISE_OR, other, True)

    def __ior__(self, other: Any) -> Self:
        return self._update(AluOp.BITWISE_OR, other)

    def __xor__(self, other: Any) -> View:
        return self._binary(AluOp.BITWISE_XOR, other)

    def __rxor__(self, other: Any) -> View:
        return self._binary(AluOp.BITWISE_XOR, other, True)

    def __ixor__(self, other: Any) -> Self:
        return self._update(AluOp.BITWISE_XOR, other)

    def __lshift__(self, other: Any) -> View:
        return self._binary(AluOp.LOGICAL_SHIFT_LEFT, other)

    def __rlshift__(self, other: Any) -> View:
        return self._binary(AluOp.LOGICAL_SHIFT_LEFT, other, True)

    def __ilshift__(self, other: Any) -> Self:
        return self._update(AluOp.LOGICAL_SHIFT_LEFT, other)

    def __rshift__(self, other: Any) -> View:
        return self._binary(self._shift_right, other)

    def __rrshift__(self, other: Any) -> View:
        return self._binary(self._shift_right, other, True)

    def __irshift__(self, other: Any) -> Self:
        return self._update(self._shift_right, other)

    def __lt__(self, other: Any) -> View:
        return self._binary(AluOp.IS_LT, other)

    def __le__(self, other: Any) -> View:
        return self._binary(AluOp.IS_LE, other)

    def __gt__(self, other: Any) -> View:
        return self._binary(AluOp.IS_GT, other)

    def __ge__(self, other: Any) -> View:
        return self._binary(AluOp.IS_GE, other)

    def __eq__(self, other: object) -> Any:
        return self._binary(AluOp.IS_EQUAL, other)

    def __ne__(self, other: object) -> Any:
        return self._binary(AluOp.NOT_EQUAL, other)

    __hash__ = object.__hash__

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **named: Any
    ) -> Any:
        """A NumPy function, or a NumPy number on the left of an operator."""
        if method == "__call__" and not named and is_op(ufunc):
            return as_op(ufunc)(*inputs)
        return super().__array_ufunc__(ufunc, method, *inputs, **named)

    def __neg__(self) -> View:
        return binary(AluOp.MULT, self, -1.0, self.element_type)

    def __pos__(self) -> View:
        return session().tensor_copy(self)

    def __abs__(self) -> View:
        return absolute(self)

    def __invert__(self) -> View:
        """Of truth values the logical not, as NumPy's."""
        return inverted(self)

    def __matmul__(self, other: Any) -> NoReturn:
        raise NKISyntaxError("'@' is not an operator of tiles; use nl.matmul(x, y)")

    def __floordiv__(self, other: Any) -> NoReturn:
        raise NKISyntaxError(
            "'//' is not an operator of tiles; use nl.floor(nl.divide(x, y))"
        )
