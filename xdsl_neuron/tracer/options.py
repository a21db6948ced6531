"""What a trace can be asked to do otherwise."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class TraceOptions:
    """
    Options of a trace (penguin.md 6.1).

    `enable_const_rewrite`: constants stay as the kernel gave them, one tensor a call,
    for the pass `penguin-const-rewrite` to fold.

    `enable_scalar_expansion`: a tile made in the body of a rolled loop is marked for
    the pass `penguin-scalar-expansion` to give it a copy per iteration.

    `output_parameters`: a kernel may write every parameter that is a tensor, as those
    that `nki.trace` decorates do; others annotate what they write.

    `force_auto_alloc`: addresses that the kernel gives its tiles are ignored.

    `max_instructions`: a trace that makes more is refused, before a loop unrolled in
    Python takes all memory. Our choice; the documents give no number.

    `ranks`: how many ranks run the kernel, for `nki.collectives`.
    """

    enable_const_rewrite: bool = False
    enable_scalar_expansion: bool = False
    output_parameters: bool = False
    force_auto_alloc: bool = False
    max_instructions: int = 250_000
    ranks: int = 1


NO_OPTIONS: Final = TraceOptions()
