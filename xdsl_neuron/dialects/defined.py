"""
What the classes of operations say by themselves, and no list beside them.

The operations of a dialect are those its modules define; operations of two levels are
the same instruction where they have one class of `dialects.instructions`.
"""

from types import ModuleType

from xdsl.ir import Operation


def operations_in(*modules: ModuleType) -> list[type[Operation]]:
    """The operations defined in modules, in the order of their definition."""
    return [
        member
        for module in modules
        for member in vars(module).values()
        if isinstance(member, type)
        and issubclass(member, Operation)
        and member.__module__ == module.__name__
        and "name" in vars(member)
    ]


def meaning_of(operation: type[Operation]) -> type[Operation] | None:
    """The class that says what an instruction is, at whatever level."""
    package = "xdsl_neuron.dialects.instructions."
    bases = (base for base in operation.mro() if base.__module__.startswith(package))
    return next((base for base in bases if issubclass(base, Operation)), None)
