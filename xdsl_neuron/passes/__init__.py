"""The passes, one module each, named as on the command line."""

from collections.abc import Callable

from xdsl.passes import ModulePass


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The passes by name; each factory imports its pass when it is first used."""
    return {}
