"""What the machine refuses, with the place of the operation."""

from xdsl_neuron.diagnostics import DiagnosticError


class MachineError(DiagnosticError):
    """
    A module that cannot run, or a run that failed.

    `diagnostics` carry the location of the operation where there is one; for a traced
    kernel that is the kernel's line.
    """
