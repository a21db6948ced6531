"""
What is said of a name that a module of the language does not have.

First what is known of it (`generations.py`), then which generation or which other
module has it, then the names that are close.
"""

import dis
from importlib import import_module
from typing import Final, NoReturn

from xdsl_neuron.nki.generations import ELSEWHERE
from xdsl_neuron.nki.roster import GENERATIONS, isa_names, language_names
from xdsl_neuron.tracer.errors import NKIAttributeError, NKIImportError
from xdsl_neuron.tracer.frames import kernel_frame
from xdsl_neuron.tracer.wrong_calls import close_names

_FIRST: Final = "neuronxcc.nki"
_LATER: Final = "nki"
_OURS: Final = {_FIRST: "xdsl_neuron.nki.functional", _LATER: "xdsl_neuron.nki"}
_SINCE: Final = {_FIRST: "0.1", _LATER: "0.2 and later"}
_PARTS: Final = ("isa", "language", "collectives", "compiler")


def absent(module: str, name: str) -> NoReturn:
    """
    Raises for a name that `module` does not have.

    Raises:
        AttributeError: NKIAttributeError, but for the names Python asks for.
        ImportError: the name is asked for by `from module import name`.
    """
    if name.startswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    reason = ELSEWHERE.get(module, {}).get(name)
    if reason is not None:
        message = f"{module}.{name} {reason}"
    else:
        other = _elsewhere(module, name)
        close = close_names(name, present(module))
        message = f"module '{module}' has no attribute '{name}'{other}{close}"
    frame = kernel_frame()
    if frame is not None:
        operation = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        if operation == "IMPORT_FROM":
            raise NKIImportError(message)
    raise NKIAttributeError(message)


def present(module: str) -> list[str]:
    """The public names of a module of the language."""
    from xdsl_neuron.nki.language.names import VALUES

    ours = _ours(module)
    try:
        found = import_module(ours)
    except ModuleNotFoundError:  # the first generation has no collectives
        return []
    values = VALUES if module.endswith(".language") else ()
    return [*getattr(found, "__all__", ()), *values]


def _ours(module: str) -> str:
    family = _FIRST if module.startswith(_FIRST) else _LATER
    return _OURS[family] + module.removeprefix(family)


def _elsewhere(module: str, name: str) -> str:
    """Which generation has the name, or which other module of this one."""
    family, other = (_FIRST, _LATER) if module.startswith(_FIRST) else (_LATER, _FIRST)
    part = module.removeprefix(family)
    spans = _generations(part, name)
    if spans:
        return f"; it is of generation {spans}: {other}{part}.{name}"
    if not part and name in _PARTS:
        return f"; there is {other}.{name} (generation {_SINCE[other]})"
    for base in (family, other):
        for each in (base, *(f"{base}.{own}" for own in _PARTS)):
            if name in present(each):
                since = "" if base == family else f" (generation {_SINCE[base]})"
                return f"; there is {each}.{name}{since}"
    return ""


def _generations(part: str, name: str) -> str:
    """The documented generations of a name of `nki.isa` or `nki.language`."""
    if part not in (".isa", ".language"):
        return ""
    names = isa_names() if part == ".isa" else language_names()
    found = [each for each in GENERATIONS if (name, each) in names]
    if not found or found[0] == found[-1]:
        return "".join(found[:1])
    last = found[-1]
    until = "and later" if last == GENERATIONS[-1] else f"to {last}"
    return f"{found[0]} {until}"
