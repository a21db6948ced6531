"""Registers: scalars of the engines' sequencers (nki.md 1.1 `register_*`)."""

from typing import Any

from xdsl_neuron.dialects.instruction import REGISTER_BITS
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_view
from xdsl_neuron.nki.registers import Register, as_register
from xdsl_neuron.nki.scalars import NkiScalar
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKITypeError
from xdsl_neuron.tracer.index import IndexExpr, as_expr
from xdsl_neuron.tracer.views import View


@api
def register_alloc(x: Any = None) -> Register:
    """A new register; `x` is its value: an integer, a register or a (1, 1) tensor."""
    if x is None or isinstance(x, int | IndexExpr):
        return Register(None if x is None else _held(x, "x"))
    return Register(_loaded(x, "x", "register_alloc"))


@api
def register_load(dst: Any, src: Any) -> None:
    """`dst` = one 32-bit element in HBM or SBUF."""
    as_register(dst, "dst").expr = _loaded(src, "src", "register_load")


@api
def register_move(dst: Any, src: Any = None, *, imm: Any = None) -> None:
    """`dst` = an integer or what another register holds; `imm` is of release 0.2."""
    if (src is None) == (imm is None):
        raise NKITypeError("register_move takes one of src and imm")
    value = imm if src is None else src
    as_register(dst, "dst").expr = _held(value, "src")


@api
def register_store(dst: Any, src: Any) -> None:
    """One 32-bit element in HBM or SBUF = what the register holds."""
    target, trace = as_view(dst, "dst"), session()
    if target.size != 1:
        raise NKITypeError(f"register_store writes one element, got {target!r}")
    _check_packed(target, "dst", "register_store")
    value = _held(src if isinstance(src, IndexExpr) else as_register(src, "src"), "src")
    trace.store_register_to_tensor(target, trace.plain(value))


def _held(value: Any, what: str) -> Affine:
    """What a register is to hold: 32 bits."""
    if isinstance(value, NkiScalar) and value.bits != REGISTER_BITS:
        raise NKITypeError(
            f"`{what}` is an NkiScalar of {value.dtype.name}, which a register of 32 "
            "bits does not hold; use nisa.scalar_store"
        )
    return Affine.of(as_expr(value, what))


def _loaded(tensor: Any, what: str, name: str) -> Affine:
    cell = as_view(tensor, what)
    _check_packed(cell, what, name)
    if cell.element_type.bytes * 8 > REGISTER_BITS:
        raise NKITypeError(
            f"{name}: `{what}` is {cell!r}, which a register of 32 bits does not hold; "
            "use nisa.scalar_load"
        )
    return session().load_tensor_to_register(cell).expr


def _check_packed(cell: View, what: str, name: str) -> None:
    if cell.element_type.is_packed:
        raise NKITypeError(
            f"{name}: `{what}` is {cell!r}; a register holds any type but the packed "
            "float8_e5m2_x4, float8_e4m3fn_x4 and float4_e2m1fn_x4"
        )
