"""What a trace can be asked to do otherwise."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TraceOptions:
    """
    Options of a trace (penguin.md 6.1).

    `enable_const_rewrite`: constants stay as the kernel gave them, one tensor a call,
    for the pass `penguin-const-rewrite` to fold.

    `max_instructions`: a trace that makes more is refused, before a loop unrolled in
    Python takes all memory. Our choice; the documents give no number.
    """

    enable_const_rewrite: bool = False
    max_instructions: int = 250_000
