"""What is said of a variable that a body, traced once, hands to its next iteration."""

from numbers import Number

from xdsl.ir import Block

from xdsl_neuron.nki.trace import KernelTrace, session
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.index import IndexExpr
from xdsl_neuron.tracer.rebinding import Rebound, Watch
from xdsl_neuron.tracer.views import View


def refuse_rebinding(watch: Watch | None, trace: KernelTrace, loop: str) -> None:
    """
    Refuses variables that change from iteration to iteration; at the body's end.

    Raises:
        NKISyntaxError: a variable of before the loop is read and then bound to another
            object, where the body is traced once for all iterations.
    """
    if watch is None:
        return
    body = trace.block

    def used(held: object) -> bool | None:
        return _is_used(held, body) if isinstance(held, View) else None

    found = watch.rebound(used)
    if found is not None:
        raise NKISyntaxError(
            f"'{found.name}' is read in the body of {loop} and bound to another "
            f"{_kind(found.now)} there; the body is traced once, so each iteration "
            f"would read what '{found.name}' was before the loop; {_legal(found)}",
            found.place,
        )


def _is_used(view: View, body: Block) -> bool:
    """Whether an instruction in a body has the tensor among its operands."""
    for use in view.base.value.uses:
        block = use.operation.parent
        while block is not None:
            if block is body:
                return True
            block = block.parent_block()
    return False


def _kind(value: object) -> str:
    match value:
        case View():
            return "tensor"
        case IndexExpr():
            return "index" if session().masks_allowed else "register"
        case Number():
            return "number"
        case _:
            return "value"


def _legal(found: Rebound) -> str:
    name = found.name
    kinds = {_kind(found.before), _kind(found.now)}
    if "tensor" in kinds:
        return (
            f"write into the tile instead (`{name}[...] = expression`, "
            f"`{name}[...] += expression`, or an instruction with dst={name})"
        )
    if "register" in kinds:
        return (
            f"make '{name}' a register before the loop (nisa.register_alloc) and "
            f"change that one: nisa.register_move({name}, ...)"
        )
    return "use static_range or range, which unroll, or compute it from the loop index"
