"""The types that every module of numerics speaks."""

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

# kernel(out, *ins): writes its leading output arrays in place. Right also when an
# output is the very same view as an input.
Kernel: TypeAlias = Callable[..., None]

# A per-instruction constant, or one value per partition shaped [P, 1, ...] in fp32. The
# constant is a Python number: a NumPy float64 scalar would turn fp32 into float64.
Scalar: TypeAlias = float | Array
