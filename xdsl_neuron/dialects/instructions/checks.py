"""Checks that gates of several instructions share."""

from collections.abc import Callable

from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import ARCHS, Arch
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction, fused_rank
from xdsl_neuron.dialects.neuron import ImmediateAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Space

FLOAT32 = (DType.FLOAT32,)
NUMBERS = tuple(d for d in DType if (d.is_float or d.is_integer) and d.bytes <= 4)
FLOATS = tuple(d for d in NUMBERS if d.is_float)


def check_arithmetic(instruction: ComputeInstruction, *ops: AluOp) -> None:
    """None of the operations works on bit patterns."""
    for op in ops:
        if op.is_bitvec:
            raise VerifyException(
                f"{op} is not supported in '{instruction.name}', expected an "
                "arithmetic operation"
            )


def check_op(
    instruction: ComputeInstruction, op: AluOp, allowed: tuple[AluOp, ...]
) -> None:
    """The operation is one of those allowed."""
    if op not in allowed:
        names = ", ".join(item.value for item in allowed)
        raise VerifyException(
            f"{op} is not supported in '{instruction.name}', expected one of {names}"
        )


def check_given_once(
    instruction: ComputeInstruction, name: str, immediate: ImmediateAttr | None
) -> None:
    """An operand or an immediate, not both and not neither."""
    if (name in instruction.data_values()) == (immediate is not None):
        raise VerifyException(
            f"takes exactly one of {name} and {_immediate_name(name)}"
        )


def check_given_at_most_once(
    instruction: ComputeInstruction, name: str, immediate: ImmediateAttr | None
) -> None:
    """An operand or an immediate or neither."""
    if name in instruction.data_values() and immediate is not None:
        raise VerifyException(
            f"takes at most one of {name} and {_immediate_name(name)}"
        )


def _immediate_name(name: str) -> str:
    return f"imm{name[-1]}" if name.startswith("scalar") else f"{name}_imm"


def check_not_both_psum(instruction: ComputeInstruction, *names: str) -> None:
    """One PSUM read port serves the vector engine."""
    data = instruction.data()
    if all(name in data and data[name].space is Space.PSUM for name in names):
        raise VerifyException(
            f"both inputs cannot be PSUM ({' and '.join(names)}); copy one to SBUF "
            "with tensor_copy first"
        )


def check_dtype(
    instruction: ComputeInstruction, name: str, allowed: tuple[DType, ...]
) -> None:
    """An operand, where it is present, has one of the element types."""
    operand = instruction.data().get(name)
    if operand is not None and operand.dtype not in allowed:
        names = ", ".join(item.nki_name for item in allowed)
        raise VerifyException(
            f"Unsupported dtype '{operand.dtype.nki_name}' of '{name}' in "
            f"'{instruction.name}', expected one of the following dtypes: {names}"
        )


def check_row(instruction: ComputeInstruction, *names: str) -> None:
    """Operands that are fp32 with one element per partition."""
    for name in names:
        instruction.check_per_partition_scalar(name)
        check_dtype(instruction, name, FLOAT32)


def check_result(
    instruction: ComputeInstruction, name: str, allowed: tuple[DType, ...] = NUMBERS
) -> None:
    """A result with one element per partition, cast from fp32."""
    instruction.check_per_partition_scalar(name)
    check_dtype(instruction, name, allowed)


def check_partitions(instruction: ComputeInstruction, first: str, *names: str) -> None:
    """Operands have as many partitions as the first one."""
    data = instruction.data()
    expected = data[first].partitions
    for name in names:
        operand = data.get(name)
        if operand is not None and operand.partitions != expected:
            raise VerifyException(
                f"number of partitions mismatch in parameters ({first}: {expected}, "
                f"{name}: {operand.partitions})"
            )


def check_count(instruction: ComputeInstruction, name: str, count: int) -> None:
    """An operand has exactly `count` elements per partition."""
    found = instruction.data()[name].free_count
    if found != count:
        raise VerifyException(
            f"'{name}' has {found} elements per partition, but must have exactly "
            f"{count}"
        )


def check_sbuf(instruction: ComputeInstruction) -> None:
    """All operands are in SBUF."""
    for operand in instruction.data().values():
        if operand.space is not Space.SBUF:
            instruction.wrong_space(operand, "sbuf")


def check_level(instruction: Instruction, level: int) -> None:
    """The target has the instruction: it is of this level or later."""
    check_has(instruction, lambda arch: arch.level >= level)


def check_has(instruction: Instruction, has: Callable[[Arch], bool]) -> None:
    """The target has what the instruction needs, as some generation and later ones."""
    arch = target_of(instruction)
    if arch is not None and not has(arch):
        first = next(each.name for each in ARCHS if has(each))
        raise VerifyException(
            f"'{instruction.name}' is available on {first} or later, got {arch.name}"
        )


def check_int32_numbers(name: str, value: Affine) -> None:
    """An engine that counts in int32 takes its offset and its steps as int32."""
    for number in (value.constant, *(factor for _, factor in value.terms)):
        if not -(1 << 31) <= number < 1 << 31:
            raise VerifyException(
                f"the offset and the steps of '{name}' must be int32, got {number}"
            )


def check_rank(instruction: ComputeInstruction, free: int, *names: str) -> None:
    """Operands have a partition and at most `free` free dimensions, after fusing."""
    data = instruction.data()
    for name in names:
        operand = data.get(name)
        if operand is None:
            continue
        dims = fused_rank(operand.access.pairs[1:])
        if dims > free:
            raise VerifyException(
                f"access to '{name}' has {dims} free dimensions, '{instruction.name}' "
                f"takes at most {free}; reshape the tile, or loop over one dimension"
            )
