"""The levels of a program, and the pipelines that lead from one to the next."""

from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects import bir, register_dialects
from xdsl_neuron.dialects.dma import BlockOp
from xdsl_neuron.passes import get_all_passes
from xdsl_neuron.verification import verify

LEVELS: Final = {"penguin": (), "bir": ("penguin-to-bir",), "dma": ("bir-to-dma",)}
"""The levels from high to low, with the pipelines that lead to each from the last."""


def level_of(module: Operation) -> str:
    """The level a module or function stands at: that of its lowest operation."""
    found = "penguin"
    for op in module.walk():
        if isinstance(op, BlockOp | bir.DMATriggerOp):
            return "dma"
        if isinstance(op, bir.FuncOp):
            found = "bir"
    return found


def lower(module: ModuleOp, level: str, ctx: Context | None = None) -> None:
    """
    Lowers a module in place to a level and verifies what came out.

    Raises `DiagnosticError` where it stands at a lower level already, or a pass
    refuses it.
    """
    if ctx is None:
        ctx = Context()
        register_dialects(ctx)
    order = list(LEVELS)
    now, wanted = order.index(level_of(module)), order.index(level)
    if now > wanted:
        raise DiagnosticError(
            module.location,
            f"the module is at level {order[now]}, it cannot be raised to {level}",
        )
    for name in order[now + 1 : wanted + 1]:
        for pipeline in LEVELS[name]:
            get_all_passes()[pipeline]()().apply(ctx, module)
    if now < wanted:
        verify(module)


def lowered(module: ModuleOp, level: str) -> ModuleOp:
    """The module at a level: itself where it stands there, else a lowered copy."""
    if level_of(module) == level:
        return module
    copy = module.clone()
    lower(copy, level)
    return copy
