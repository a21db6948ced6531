"""Registers: scalars of the engines' sequencers (nki.md 1.1 `register_*`)."""

from typing import Any

from xdsl_neuron.affine import Affine
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_view
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError
from xdsl_neuron.tracer.index import IndexExpr, as_expr


class Register(IndexExpr):
    """
    A register, usable in offsets: `t[r, :]`, `nl.ds(r, 4)`, `ap(scalar_offset=r)`.

    What it holds is an expression of loads; arithmetic with it takes what it holds now.
    """

    __slots__ = ("value",)

    def __init__(self, value: Affine | None) -> None:
        self.value = value
        self.shape = ()

    @property
    def expr(self) -> Affine:
        """What the register holds; NKISyntaxError where nothing was put into it."""
        if self.value is None:
            raise NKISyntaxError(
                "a register is used before register_load or register_move"
            )
        return self.value

    @expr.setter
    def expr(self, value: Affine) -> None:
        self.value = value


def _as_register(value: Any, what: str) -> Register:
    if isinstance(value, Register):
        return value
    raise NKITypeError(
        f"`{what}` must be a register of register_alloc(), got {type(value).__name__}"
    )


@api
def register_alloc(x: Any = None) -> Register:
    """A new register; `x` is its value: an integer, a register or a (1, 1) tensor."""
    if x is None or isinstance(x, int | IndexExpr):
        return Register(None if x is None else Affine.of(as_expr(x, "x")))
    found = session().load_tensor_to_register(as_view(x, "x"))
    return Register(found.expr)


@api
def register_load(dst: Any, src: Any) -> None:
    """`dst` = one 32-bit element in HBM or SBUF."""
    target = _as_register(dst, "dst")
    found = session().load_tensor_to_register(as_view(src, "src"))
    target.expr = found.expr


@api
def register_move(dst: Any, src: Any = None, *, imm: Any = None) -> None:
    """`dst` = an integer or what another register holds; `imm` is of release 0.2."""
    if (src is None) == (imm is None):
        raise NKITypeError("register_move takes one of src and imm")
    value = imm if src is None else src
    _as_register(dst, "dst").expr = Affine.of(as_expr(value, "src"))


@api
def register_store(dst: Any, src: Any) -> None:
    """
    One 32-bit element in HBM or SBUF = what the register holds.

    A sum or product of registers has no register of its own: it is written as an iota
    of one element, which an engine does in SBUF.
    """
    target, value = as_view(dst, "dst"), _as_register(src, "src").expr
    plain = value.is_constant or value in {Affine.index(p) for p in value.positions}
    if plain:
        session().store_register_to_tensor(target, value)
        return
    if target.size != 1:
        raise NKITypeError(f"register_store writes one element, got {target!r}")
    session().index_value(value, (), dst=target)
