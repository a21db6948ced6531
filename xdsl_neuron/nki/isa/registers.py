"""Registers: scalars of the engines' sequencers (nki.md 1.1 `register_*`)."""

from typing import Any

from xdsl_neuron.affine import Affine
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_view
from xdsl_neuron.nki.registers import Register, as_register
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKITypeError
from xdsl_neuron.tracer.index import IndexExpr, as_expr


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
    target = as_register(dst, "dst")
    found = session().load_tensor_to_register(as_view(src, "src"))
    target.expr = found.expr


@api
def register_move(dst: Any, src: Any = None, *, imm: Any = None) -> None:
    """`dst` = an integer or what another register holds; `imm` is of release 0.2."""
    if (src is None) == (imm is None):
        raise NKITypeError("register_move takes one of src and imm")
    value = imm if src is None else src
    as_register(dst, "dst").expr = Affine.of(as_expr(value, "src"))


@api
def register_store(dst: Any, src: Any) -> None:
    """One 32-bit element in HBM or SBUF = what the register holds."""
    target, trace = as_view(dst, "dst"), session()
    if target.size != 1:
        raise NKITypeError(f"register_store writes one element, got {target!r}")
    value = src.expr if isinstance(src, IndexExpr) else as_register(src, "src").expr
    trace.store_register_to_tensor(target, trace.plain(value))
