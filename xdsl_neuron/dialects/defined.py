"""The operations of a dialect are the classes that its modules define."""

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
