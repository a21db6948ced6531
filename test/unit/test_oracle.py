"""Every instruction against its statement in NumPy, at every level (test/oracle)."""

import ast
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from oracle.every import ORACLES
from oracle_run import check

from xdsl_neuron.dialects import get_all_dialects
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.machine.system import REFUSED

EXAMPLES = max(10, settings().max_examples // 5)
"""Of each instruction; `--hypothesis-profile=long` draws a hundred times as many."""

WITHOUT = {
    "bir.branch_hint": "says something of branches, which are refused",
    "bir.dma_trigger": "fires descriptors, which have oracles of their own",
}
"""Instructions that have no oracle, and why; it gets shorter, never longer."""


@pytest.mark.parametrize("names", ORACLES, ids=lambda names: names[0])
def test_instruction(names: tuple[str, ...]) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.randoms(use_true_random=False))
    def run(choices: Random) -> None:
        check(ORACLES[names], choices)

    run()


def instructions() -> dict[str, type[Instruction]]:
    """Every instruction of the registry."""
    return {
        operation.name: operation
        for factory in get_all_dialects().values()
        for operation in factory().operations
        if issubclass(operation, Instruction)
    }


def is_refused(operation: type[Instruction]) -> bool:
    """Whether the machine says that it does not execute it, at any level."""
    return issubclass(operation, tuple(REFUSED))


def test_every_instruction_has_an_oracle() -> None:
    known = instructions()
    stated = [name for names in ORACLES for name in names]
    assert len(stated) == len(set(stated)), "an instruction has two oracles"
    assert set(stated) <= set(known), "an oracle of what is no instruction"
    refused = {name for name, kind in known.items() if is_refused(kind)}
    assert not refused & set(stated), "an oracle of what the machine refuses"
    missing = set(known) - set(stated) - refused
    assert missing == set(WITHOUT), "write its oracle in test/oracle"


@pytest.mark.parametrize("names", ORACLES, ids=lambda names: names[0])
def test_an_oracle_meets_its_instructions(names: tuple[str, ...]) -> None:
    """Each name is among the operations of some kernel, at one of the levels."""
    left = set(names)
    for number in range(60):
        left -= check(ORACLES[names], Random(number))
        if not left:
            return
    assert not left, "these instructions are in none of 60 kernels"


def test_the_oracle_stands_alone() -> None:
    """It imports nothing of the arithmetic and the machine it is compared with."""
    folder = Path(__file__).parent.parent / "oracle"
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = list[str]()
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path.name}: a relative import"
                names = [node.module or ""]
            roots = {name.split(".")[0] for name in names}
            allowed = {"numpy", "ml_dtypes", "oracle", "typing", "dataclasses"}
            allowed |= {"collections", "math", "random"}
            assert roots <= allowed, f"{path.name} imports {roots - allowed}"
