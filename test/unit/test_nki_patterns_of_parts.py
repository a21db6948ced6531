"""
`.ap` of a part of a tile: the pattern is on the storage (release 2.31 on).

Earlier pages say "of the tensor"; kernels of that time count partitions in elements of
the part. Where both mean the same elements that is a warning.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tools.run import main
from xdsl_neuron.tracer.errors import NKIError
from xdsl_neuron.tracer.release_warnings import NKIReleaseWarning

nl: Any = language
nisa: Any = isa

X = np.random.default_rng(7).random((8, 24), np.float32)
Pattern = Callable[[Any], Any]


def reading(view: Pattern) -> Callable[[Any], Any]:
    """A kernel that copies a view of a tile."""

    def kernel(x: Any) -> Any:
        tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)
        part = view(tile)
        out = nl.ndarray(part.shape, part.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, part)
        return out

    return kernel


STORAGE: list[tuple[Pattern, Any]] = [
    (lambda t: t[:, 16:].ap([[24, 8], [1, 8]]), X[:, 16:]),
    (lambda t: t[:, 8:].ap([[24, 8], [2, 4]], offset=1), X[:, 9:16:2]),
    (lambda t: t[2:6, 8:].ap([[24, 3], [1, 4]], offset=24), X[3:6, 8:12]),
]
PART: list[tuple[Pattern, Any]] = [
    (lambda t: t[:, 16:].ap([[8, 8], [1, 8]]), X[:, 16:]),
    (lambda t: t[:, 0:8].ap([[8, 8], [2, 4]], offset=1), X[:, 1:8:2]),
    (lambda t: t[2:6, 8:].ap([[16, 3], [1, 4]], offset=16), X[3:6, 8:12]),
    (lambda t: t[2:6, 8:].ap([[16, 2], [1, 4]], offset=37), X[4:6, 13:17]),
    (
        lambda t: t[:, 16:].ap([[16, 8], [2, 8]], dtype=nl.bfloat16),
        X.view(ml_dtypes.bfloat16)[:, 32::2],
    ),
    (
        lambda t: t.reshape((8, 6, 4))[:, 2:4].ap([[8, 8], [4, 2], [1, 4]]),
        X.reshape(8, 6, 4)[:, 2:4],
    ),
]


@pytest.mark.parametrize(("view", "expected"), STORAGE)
def test_a_pattern_is_on_the_storage(view: Pattern, expected: Any) -> None:
    assert_kernel_ok(reading(view), X, expected=expected)


@pytest.mark.parametrize(("view", "expected"), PART)
def test_partitions_counted_in_elements_of_the_part(
    view: Pattern, expected: Any
) -> None:
    with pytest.warns(NKIReleaseWarning, match="from release 2.31 on .* is .* 24|48"):
        nki.trace(reading(view))(X)
    with pytest.warns(NKIReleaseWarning):
        assert_kernel_ok(reading(view), X, expected=expected)


REFUSED: list[Pattern] = [
    lambda t: t[:, 16:].ap([[7, 8], [1, 8]]),
    lambda t: t[:, 16:].ap([[4, 8], [1, 8]]),
    # Rows of the part are apart in the storage: the two meanings differ.
    lambda t: t.reshape((8, 6, 4))[:, :, 0:2].ap([[12, 8], [2, 6], [1, 2]]),
    lambda t: t[:, 0:24:2].ap([[12, 8], [1, 12]]),
]


@pytest.mark.parametrize("view", REFUSED)
def test_other_steps_are_refused(view: Pattern) -> None:
    with pytest.raises(NKIError, match="expected a multiple of 24"):
        nki.trace(reading(view))(X)


def test_the_warning_of_a_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It looks like every message of ours."""
    file = tmp_path / "parts.py"
    file.write_text(
        "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
        "import numpy as np\n\n\n@nki.jit\ndef kernel(x):\n"
        "    tile = nl.ndarray((4, 8), x.dtype, buffer=nl.sbuf)\n"
        "    half = tile[:, 4:]\n"
        "    nisa.dma_copy(dst=half, src=x)\n"
        "    y = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=y, src=half.ap([[4, 4], [1, 4]]))\n"
        "    return y\n\n\nkernel(np.ones((4, 4), np.float32))\n"
    )
    assert main([str(file)]) == 0
    message = f"{file}:13:30: warning: access pattern on a part of 'tile': from release"
    assert capsys.readouterr().err.startswith(message)
