"""One BLAS thread, so that a matmul has the same bits in every run."""

import os
import sys
from typing import Final

_VARIABLES: Final = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def ask_for_one_thread() -> None:
    """Set the libraries' variables, which they read when NumPy is first imported."""
    if "numpy" in sys.modules:
        return
    for variable in _VARIABLES:
        os.environ.setdefault(variable, "1")
