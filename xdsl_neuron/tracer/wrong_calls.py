"""What a call with wrong arguments is told: the close names first, then what it has."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

_BY_NAME: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_MOST: Final = 24
"""Names that a message lists."""


def close_names(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'a' or 'b'?`, empty where nothing is close."""
    known = list(dict.fromkeys(known))
    found = get_close_matches(name, known, 2)
    if not found:
        lower = {each.lower(): each for each in known}
        same = lower.get(name.lower())
        found = [] if same is None else [same]
    if not found:
        return ""
    return f"; did you mean {' or '.join(repr(each) for each in found)}?"


def listed(names: Sequence[str]) -> str:
    """The names, of many the first."""
    left = len(names) - _MOST
    more = f", ... ({left} more)" if left > 0 else ""
    return ", ".join(names[:_MOST]) + more


def unexpected(
    call: str, key: str, own: Sequence[str], others: Mapping[str, Sequence[str]]
) -> str:
    """
    A keyword that a call does not have.

    `others` are further groups of names that it takes, by what they are called.
    """
    known = [*own, *(name for group in others.values() for name in group)]
    groups = [listed(own) or "no keyword of its own"]
    groups += [f"{what} {', '.join(group)}" for what, group in others.items()]
    return (
        f"{call} got an unexpected keyword argument '{key}'"
        f"{close_names(key, known) or ';'} it accepts {', and '.join(groups)}"
    )


def wrong_call(
    call: str,
    signature: inspect.Signature,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    others: Mapping[str, Sequence[str]] | None = None,
) -> str | None:
    """What is wrong with these arguments, None where nothing is."""
    parameters = signature.parameters.values()
    own = [p.name for p in parameters if p.kind in _BY_NAME]
    others = others or {}
    is_open = any(p.kind is p.VAR_KEYWORD for p in parameters)
    if others or not is_open:
        known = {*own, *(name for group in others.values() for name in group)}
        for key in kwargs:
            if key not in known:
                return unexpected(call, key, own, others)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        shown = [str(p.replace(annotation=p.empty)) for p in parameters]
        return f"{call} {error}; it accepts {listed(shown)}"
    return None
