"""What the generators of a DMA's descriptors (DGE) can do (dma.md 9.4, 9.7)."""

from typing import Final

from xdsl.ir import OpResult
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.isa import DgeType, Engine

HARDWARE_DGE_ENGINES: Final = (Engine.ACTIVATION, Engine.SP)
HARDWARE_DGE_ENGINE: Final = (
    "DMAs that use HWDGE can only be assigned to EngineType::Activation "
    "(nki.isa.engine.scalar) or EngineType::SP (nki.isa.engine.sync), but got "
    "EngineType::{actual}"
)
DYNAMIC_NEEDS_DGE: Final = (
    "DGE must be enabled when dynamic src access in DMA is used | DGE must be enabled "
    "when dynamic dst access in DMA is used"
)
TRANSPOSED_PATTERNS: Final = (
    "DGE xbar transpose src columns must be consecutive. Last dimension step should be "
    "1 but it is {actual} | ... dst columns ... | DGE xbar transpose dst rows must be "
    "consecutive. Partition dimension step should be {expected} but it is {actual} | "
    "Output of xbar transpose must have steps must be 32 byte aligned. Output "
    "dimension {dim} has step size of {step} which is not divisible by 32 when "
    "multiplied with the dtype size {dtype_size}. | DGE xbar transpose dst tile "
    "starting address must be a multiple of 32, but it is {actual} (remainder of "
    "{remainder})"
)
_XBAR_BYTES: Final = 32
"""The transposing crossbar writes rows of this many bytes."""


def check_hardware_dge_engine(dge: DgeType, engine: Engine) -> None:
    """
    Two engines trigger what hardware makes the descriptors of.

    The tensor engine triggers no DMA, which has a message of its own.
    """
    free = (Engine.UNASSIGNED, Engine.DMA, Engine.ALL, Engine.PE)
    if dge is DgeType.HWDGE and engine not in (*free, *HARDWARE_DGE_ENGINES):
        raise VerifyException(HARDWARE_DGE_ENGINE.replace("{actual}", engine.value))


def check_dynamic_needs_dge(instruction: Instruction, dge: DgeType) -> None:
    """Descriptors that are made before the run know no register."""
    if dge is not DgeType.NONE:
        return
    indices = list(instruction.loop_indices())
    for name, operand in instruction.data().items():
        moved = sorted(operand.access.positions)
        if any(isinstance(indices[at], OpResult) for at in moved):
            raise VerifyException(
                f"DGE must be enabled when dynamic {name} access in DMA is used; leave "
                "dge_mode open"
            )


def check_transposed_patterns(src: Operand, dst: Operand) -> None:
    """The crossbar reads and writes whole rows of 32 bytes."""
    for operand in (src, dst):
        step, num = operand.access.pairs[-1]
        if num > 1 and step != 1:
            raise VerifyException(
                f"DGE xbar transpose {operand.name} columns must be consecutive. Last "
                f"dimension step should be 1 but it is {step}"
            )
    step, num = dst.access.pairs[0]
    if num > 1 and step != 1:
        raise VerifyException(
            "DGE xbar transpose dst rows must be consecutive. Partition dimension step "
            f"should be 1 but it is {step}"
        )
    size = dst.dtype.bytes
    run = dst.access.pairs[-1][1]
    for dim in range(len(dst.access.pairs) - 2, 0, -1):
        step, num = dst.access.pairs[dim]
        if num > 1 and step == run:  # one row with what is inside
            run *= num
        elif num > 1 and step * size % _XBAR_BYTES:
            raise VerifyException(
                "Output of xbar transpose must have steps must be 32 byte aligned. "
                f"Output dimension {dim} has step size of {step} which is not "
                f"divisible by 32 when multiplied with the dtype size {size}."
            )
    start = dst.access.offset
    if start.is_constant and start.constant * size % _XBAR_BYTES:
        byte = start.constant * size
        raise VerifyException(
            "DGE xbar transpose dst tile starting address must be a multiple of 32, "
            f"but it is {byte} (remainder of {byte % _XBAR_BYTES})"
        )
