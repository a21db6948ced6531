"""How the machine behaves where a program leaves it open."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class MachineOptions:
    """
    Switches of the machine; the defaults expose bugs.

    Attributes:
        uninitialized_memory: what a buffer holds that nothing has written: `poison` is
            NaN in floating point types and 4 in integers, as in the vendor's simulator
            (the other types have bytes 0xFF).
        max_unrolled_steps: instructions up to which a plan is kept; a longer program
            is planned again in every run, piece by piece, in bounded memory.
        max_iterations: executions of loop bodies that a program may ask for.
        max_tensor_bytes: the largest tensor that is allocated.
        mx_scale: the block scale of quantize_mx: `doubled` since 0.5, `sample` that of
            the OCP sample algorithm, which is half of it, as before.
        random_seed: seed of inputs that a tool makes up.
    """

    uninitialized_memory: Literal["poison", "zero"] = "poison"
    max_unrolled_steps: int = 200_000
    max_iterations: int = 50_000_000
    max_tensor_bytes: int = 1 << 32
    mx_scale: Literal["doubled", "sample"] = "doubled"
    random_seed: int = 0
