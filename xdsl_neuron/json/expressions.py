"""
Quasi-affine expressions in JSON: the recursive form of version 2, and version 1's.

A node names its kind: `AffExprKind` (terms and a constant), `SumKind`, `MultKind`,
`FloorDivKind`, `ModuloKind`; leaves are `AffIVKind` (a loop axis by name) and
`IntRuntimeValueKind` (a register by name). Lanes are ours: `xdsl_neuron.lane`.
"""

from collections.abc import Callable
from typing import Final

from xdsl_neuron.geometry.affine import Affine, Atom, FloorDiv, Index, Lane, Mod
from xdsl_neuron.json.document import Json, Node

LANE_KIND: Final = "xdsl_neuron.lane"
MAX_DEPTH: Final = 60
_MAX_LANE = 99999
_MAX_TERMS = 512
_OPERATIONS: Final = {"Div": "FloorDivKind", "Mod": "ModuloKind"}


def affine_to_json(expression: Affine, leaf: Callable[[int], Json]) -> Json:
    """The tree of version 2; `leaf` writes the loop index at a position."""
    if len(expression.terms) == 1 and not expression.constant:
        atom, coefficient = expression.terms[0]
        if coefficient == 1:
            return _atom(atom, leaf)
    simple: list[Json] = []
    rest: list[Json] = []
    for atom, coefficient in expression.terms:
        match atom:
            case Index() | Lane():
                simple.append({"idx": _atom(atom, leaf), "coeff": coefficient})
            case _:
                tree = _atom(atom, leaf)
                scaled: Json = {"kind": "MultKind", "var": tree, "scale": coefficient}
                rest.append(tree if coefficient == 1 else scaled)
    linear: Json = {"kind": "AffExprKind", "terms": simple, "c": expression.constant}
    if not rest:
        return linear
    if simple or expression.constant:
        rest.insert(0, linear)
    if len(rest) == 1:
        return rest[0]
    return {"kind": "SumKind", "n_terms": len(rest), "terms": rest}


def _atom(atom: Atom, leaf: Callable[[int], Json]) -> Json:
    match atom:
        case Index(position):
            return leaf(position)
        case Lane(dim):
            return {"kind": LANE_KIND, "dim": dim}
        case FloorDiv(operand, divisor):
            kind = "FloorDivKind"
        case Mod(operand, divisor):
            kind = "ModuloKind"
    return {"kind": kind, "numer": affine_to_json(operand, leaf), "denom": divisor}


class ExpressionReader:
    """
    Reads expressions of one instruction.

    `axis` and `register` give the position of the loop index a name stands for.
    """

    def __init__(
        self,
        version: int,
        axis: Callable[[Node], int],
        register: Callable[[Node], int],
    ) -> None:
        self._version = version
        self._axis = axis
        self._register = register

    def read(self, node: Node) -> Affine:
        """An expression, or a bare integer; 64-bit coefficients."""
        expression = self._read(node, MAX_DEPTH)
        limit = 1 << 63
        numbers = (expression.constant, *(c for _, c in expression.terms))
        if any(not -limit <= number < limit for number in numbers):
            node.fail("a coefficient does not fit in 64 bits")
        return expression

    def _read(self, node: Node, depth: int) -> Affine:
        if depth == 0:
            node.fail("expression is nested too deeply")
        if isinstance(node.value, int):
            return Affine(node.integer())
        kind = node.get("kind")
        if kind is None and self._version == 1:
            return self._version1(node)
        return self._tree(node, node.child("kind").string(), depth)

    def _tree(self, node: Node, kind: str, depth: int) -> Affine:
        match kind:
            case "AffExprKind":
                total = Affine(node.child("c").integer())
                for term in self._terms(node):
                    index = self._read(term.child("idx"), depth - 1)
                    total = total + index * term.child("coeff").integer()
                return total
            case "SumKind":
                terms = self._terms(node)
                if len(terms) != node.child("n_terms").integer():
                    node.fail("Number of terms don't match")
                return sum((self._read(t, depth - 1) for t in terms), Affine(0))
            case "MultKind":
                scale = node.child("scale").integer()
                return self._read(node.child("var"), depth - 1) * scale
            case "FloorDivKind" | "ModuloKind" | "CCModKind":
                operand = self._read(node.child("numer"), depth - 1)
                return _divided(kind, operand, node.child("denom"))
            case "AffIVKind":
                return Affine.index(self._axis(node.child("axis")))
            case "IntRuntimeValueKind":
                return Affine.index(self._register(node.child("regref")))
            case _ if kind == LANE_KIND:
                return Affine.lane(node.child("dim").integer(0, _MAX_LANE))
            case _:
                node.fail(f"Walrus doesn't support this kind of Expr: {kind}")

    def _terms(self, node: Node) -> list[Node]:
        terms = node.child("terms").array()
        if len(terms) > _MAX_TERMS:
            node.fail(f"more than {_MAX_TERMS} terms")
        return terms

    def _version1(self, node: Node) -> Affine:
        total = Affine(node.child("c").integer())
        for term in self._terms(node):
            index = Affine.index(self._axis(term.child("AxisLabel")))
            total = total + index * term.child("coef").integer()
        operation = node.get("op")
        if operation is None:
            return total
        kind = _OPERATIONS.get(operation.string())
        if kind is None:
            operation.fail(
                f"Walrus doesn't support this kind of Expr: {operation.value}"
            )
        return _divided(kind, total, node.child("op_param"))


def _divided(kind: str, operand: Affine, divisor: Node) -> Affine:
    number = divisor.integer(1)
    is_quotient = kind == "FloorDivKind"
    return operand.floordiv(number) if is_quotient else operand.mod(number)
