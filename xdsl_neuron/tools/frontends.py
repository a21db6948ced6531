"""What our commands read a file as, by its extension where nobody says."""

from pathlib import PurePath
from typing import Final

FRONTENDS: Final = ("mlir", "bir-json")
"""What every command of ours reads; `neuron-opt` also has those of other packages."""

_BY_EXTENSION: Final = {".json": "bir-json"}


def frontend_of(asked: str | None, path: str | None) -> str:
    """The front end asked for, or the one of the file's extension."""
    return asked or _BY_EXTENSION.get(PurePath(path or "").suffix, "mlir")
