"""
Checks for tests of kernels: every level from its re-read text, one answer.

    from xdsl_neuron.testing import assert_kernel_ok
    assert_kernel_ok(matmul, lhsT, rhs, expected=lhsT.T @ rhs, atol=1e-3)
"""

from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import get_all_dialects as upstream_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.transforms import get_all_passes as upstream_passes

from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.machine import Unwritten, prepare
from xdsl_neuron.passes import get_all_passes

Array = npt.NDArray[Any]

LEVELS = {"penguin": (), "bir": ("penguin-to-bir",), "dma": ("neuron",)}
GENERIC_PASSES = ("cse", "dce", "canonicalize", "licm")


def context() -> Context:
    """A context with our dialects and the few of xDSL that meet them."""
    found = Context()
    for name in ("builtin", "func", "scf", "arith"):
        found.register_dialect(name, upstream_dialects()[name])
    found.load_registered_dialect("builtin")
    register_dialects(found)
    return found


def printed(module: ModuleOp, *, generic: bool = False, locations: bool = False) -> str:
    """The module's text."""
    stream = StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=locations).print_op(
        module
    )
    return stream.getvalue()


def reread(text: str) -> ModuleOp:
    """The module a text stands for, verified."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def apply(module: ModuleOp, names: Sequence[str]) -> ModuleOp:
    """The module after passes, ours or xDSL's."""
    ours, theirs = get_all_passes(), upstream_passes()
    for name in names:
        factory = ours.get(name) or theirs[name]
        found: type[ModulePass] = factory()
        found().apply(context(), module)
    module.verify()
    return module


def texts(module: ModuleOp) -> dict[str, str]:
    """The text of a traced module at each level; each reads back as itself."""
    return {level: text for level, (text, _) in _levels(module).items()}


def _levels(module: ModuleOp) -> dict[str, tuple[str, ModuleOp]]:
    """The text of each level, and what it is read as."""
    source = reread(printed(module, locations=True))
    found: dict[str, tuple[str, ModuleOp]] = {}
    for level, names in LEVELS.items():
        lowered = apply(source.clone(), names)
        text = printed(lowered)
        again = printed(reread(text))
        assert again == text, f"{level} text changes when read again"
        # What is executed knows the kernel's lines.
        generic = printed(lowered, generic=True, locations=True)
        read = reread(generic)
        assert printed(read) == text, f"{level} generic form differs"
        found[level] = text, read
    return found


def run_text(text: str, arrays: Sequence[Array]) -> list[bytes]:
    """The bytes a module's text leaves in its outputs and mutable inputs."""
    return _run(reread(text), arrays)


def _run(
    module: ModuleOp, arrays: Sequence[Array], left: list[str] | None = None
) -> list[bytes]:
    """
    The bytes of outputs and mutable inputs.

    What is not written of the outputs is appended to `left`.
    """
    inputs = [np.array(array, copy=True) for array in arrays]
    program = prepare(module)
    unwritten: list[Unwritten] = []
    outputs = program.run(inputs, unwritten)
    if left is not None:
        left += map(str, unwritten)
    changed = [
        array
        for array, parameter in zip(inputs, program.inputs, strict=True)
        if parameter.mutable
    ]
    return [array.tobytes() for array in (*outputs, *changed)]


def assert_levels_agree(
    module: ModuleOp, arrays: Sequence[Array], *, generic_passes: bool = True
) -> dict[str, str]:
    """
    All levels give the same bytes, also after xDSL's generic passes.

    They leave the same elements of the outputs unwritten.
    """
    found = _levels(module)
    wanted: list[str] = []
    expected = _run(found["penguin"][1], arrays, wanted)
    for level, (_, read) in found.items():
        left: list[str] = []
        assert _run(read, arrays, left) == expected, f"{level} differs from penguin"
        assert left == wanted, f"{level} writes other elements than penguin"
        if generic_passes:
            cleaned = printed(apply(read, GENERIC_PASSES))
            assert run_text(cleaned, arrays) == expected, f"{level} after cleaning"
    return {level: text for level, (text, _) in found.items()}


def assert_kernel_ok(
    kernel: Callable[..., Any],
    *arguments: Any,
    expected: Any = None,
    grid: Any = None,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Any:
    """
    A kernel's result, after it was seen to be right.

    Traces the kernel, lowers it, checks that the text of each level reads back as
    itself and that all levels give the same bytes. With `expected` (one array per
    output) the result is compared within the tolerances; both 0 means exactly. An
    output that is not written as a whole is warned of (`UnwrittenOutput`).
    Raises `AssertionError` with the first difference.
    """
    from xdsl_neuron.nki import PERSONALITY
    from xdsl_neuron.nki.kernel import as_kernel

    run = as_kernel(kernel, PERSONALITY)
    arrays = [np.asarray(array) for array in run.tensors(*arguments)]
    if grid is not None:
        run = run[grid]
    assert_levels_agree(run.trace(*arguments), arrays)
    found = run.simulate(arguments, {})
    if expected is not None:
        for output, want in zip(_listed(found), _listed(expected), strict=True):
            np.testing.assert_allclose(
                np.asarray(output, np.float64),
                np.asarray(want, np.float64),
                rtol=rtol,
                atol=atol,
            )
    return found


def _listed(value: Any) -> Sequence[Any]:
    return value if type(value) in (tuple, list) else (value,)
