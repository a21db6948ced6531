"""The table of the verifier's rules says what the gates do."""

import ast
import inspect
import re
import sys
from collections import Counter
from functools import cache

import pytest
from gate_audit import GateKey, every_gate

from xdsl_neuron.dialects import bir, get_all_dialects
from xdsl_neuron.dialects.gate import gates_of
from xdsl_neuron.dialects.instructions import descriptor_generators
from xdsl_neuron.reference.verifier_rules import Outside, Rule
from xdsl_neuron.reference.verifier_rules_bir import BIR_RULES
from xdsl_neuron.reference.verifier_rules_dma import DMA_RULES

RULES = [
    rule for section in (*BIR_RULES.values(), *DMA_RULES.values()) for rule in section
]
CODE = re.compile(r"\b(?:E?BIR|DMA|MLO|EDGE|OQS|SQI|XCG|SIM|LDD)\d{3,4}\b")
NUMBERS = re.compile(r"\bcodes? ([\d, ]+(?:(?:to|and|\.\.) ?\d+)?)")


@cache
def modules() -> dict[str, str]:
    """The module of each class that has a gate."""
    return {
        parent.__qualname__: parent.__module__
        for factory in get_all_dialects().values()
        for operation in factory().operations
        for parent in operation.mro()
    }


@cache
def texts(module: str) -> str:
    """The string constants of a module, one a line."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return "\n".join(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def codes_of(source: str) -> set[str]:
    """The codes that a gate's source mentions."""
    found = set(CODE.findall(source))
    for match in NUMBERS.finditer(source):
        text = match.group(1)
        numbers = [int(n) for n in re.findall(r"\d+", text)]
        if "to" in text or ".." in text:
            numbers += range(numbers[-2], numbers[-1])
        found |= {str(n) for n in numbers}
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.codes}-{r.literal[:30]}")
def test_rule(rule: Rule) -> None:
    """A rule is told, and its gate exists and has its literal."""
    assert rule.literal or rule.words
    if isinstance(rule.kept, Outside):
        return
    owner, method = rule.kept.split(".")
    found = every_gate().get(GateKey(owner, method))
    assert found is not None, "no such gate"
    module = modules()[owner]
    said = "\n".join(
        (found[0].literal, texts(module), texts(descriptor_generators.__name__))
    )
    for part in re.split(r"\{\w+\}", rule.literal):
        assert part in said


def test_rules_are_checked_in_the_documented_order() -> None:
    """Base, memory type, indirect, architecture, engine, operation."""
    order = [gate.name for gate in gates_of(bir.GenericIndirectLoadOp)]
    stages = (
        "access_bounds",
        "dma_spaces",
        "index_tile",
        "arch_window",
        "hardware_dge_engine",
        "gather_direction",
    )
    assert sorted(stages, key=order.index) == list(stages)
    for factory in get_all_dialects().values():
        for operation in factory().operations:
            found = [gate.stage for gate in gates_of(operation)]
            assert found == sorted(found)


def test_codes_are_named_once() -> None:
    counts = Counter(code for rule in RULES for code in rule.codes.split())
    assert [code for code, count in counts.items() if count > 1] == []


def test_codes_of_gates_are_in_the_table() -> None:
    known = {code for rule in RULES for code in rule.codes.split()}
    missing = {
        f"{key}: {code}"
        for key, (gate, _) in every_gate().items()
        for code in codes_of(gate.source)
        if code not in known
    }
    assert not missing
