"""The names kernels give to what they create, read from the kernel's own code."""

import dis
from functools import lru_cache
from types import CodeType, FrameType

_STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL"})


@lru_cache(maxsize=4096)
def _assigned(code: CodeType, offset: int) -> str | None:
    for instruction in dis.get_instructions(code):
        # Between a call and what takes its value stand only cache entries.
        if instruction.offset > offset:
            return instruction.argval if instruction.opname in _STORES else None
    return None


def assigned_name(frame: FrameType) -> str | None:
    """
    The variable that takes the value of the call `frame` is in.

    `tile = nl.ndarray(...)` gives "tile"; None where the value goes elsewhere (an
    argument, an element of a list, an attribute).
    """
    return _assigned(frame.f_code, frame.f_lasti)
