"""Making `import nki` and `import neuronxcc.nki` mean ours."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Final

_PACKAGE: Final = "xdsl_neuron.nki"

# Name a kernel imports -> our module. Packages get a module of their own, so that
# `import nki.something` is not looked up among our files.
_PACKAGES: Final = {
    "nki": _PACKAGE,
    "neuronxcc": "",
    "neuronxcc.nki": f"{_PACKAGE}.functional",
}
_MODULES: Final = {
    "nki.language": f"{_PACKAGE}.language",
    "nki.isa": f"{_PACKAGE}.isa",
    "nki.isa.constants": f"{_PACKAGE}.enums",
    "nki.collectives": f"{_PACKAGE}.collectives",
    "nki.compiler": f"{_PACKAGE}.compiler",
    "nki.typing": f"{_PACKAGE}.typing",
    "neuronxcc.nki.language": f"{_PACKAGE}.functional.language",
    "neuronxcc.nki.language.constants": f"{_PACKAGE}.functional.language_constants",
    "neuronxcc.nki.isa": f"{_PACKAGE}.functional.isa",
    "neuronxcc.nki.isa.constants": f"{_PACKAGE}.functional.constants",
    "neuronxcc.nki.typing": f"{_PACKAGE}.typing",
    "neuronxcc.nki.compiler": f"{_PACKAGE}.functional.compiler",
}


def install() -> None:
    """Puts the kernel languages under the names that kernels import."""
    for name, ours in _PACKAGES.items():
        _publish(name, _package(name, ours))
    for name, ours in _MODULES.items():
        _publish(name, import_module(ours))


def _package(name: str, ours: str) -> ModuleType:
    found = sys.modules.get(name)
    if found is None or getattr(found, "__xdsl_neuron__", None) is None:
        found = ModuleType(name)
    found.__dict__.update(__path__=[], __xdsl_neuron__=True)
    if ours:
        real = import_module(ours)
        public = {
            k: v
            for k, v in vars(real).items()
            if not k.startswith("__") or k == "__getattr__"
        }
        found.__dict__.update(public, __doc__=real.__doc__, __all__=real.__all__)
    return found


def _publish(name: str, module: ModuleType) -> None:
    sys.modules[name] = module
    parent, _, attribute = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], attribute, module)
