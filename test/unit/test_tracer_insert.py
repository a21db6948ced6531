"""The one append point: names, edges, predicates, locations, gates."""

import ast
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

import xdsl_neuron
from xdsl_neuron.arch import TRN2
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, LoopKind, Space
from xdsl_neuron.tracer.codegen import NeuronCodegen
from xdsl_neuron.tracer.context import current, current_or_none, tracing
from xdsl_neuron.tracer.errors import OUTSIDE_KERNEL, NKIError, NKIRuntimeError
from xdsl_neuron.tracer.index import IndexExpr, Mask, arange
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View
from xdsl_neuron.verification import verify

PACKAGE = Path(xdsl_neuron.__file__).parent
ADDING = {
    "add_op",
    "add_ops",
    "insert_op",
    "insert_op_before",
    "insert_op_after",
    "insert_ops_before",
    "insert_ops_after",
    "Builder",
    "ImplicitBuilder",
    "InsertPoint",
}
MAY_ADD = {"insert", "scope", "_put"}


def codegen() -> NeuronCodegen:
    kind = TensorType.of((300, 64), DType.FLOAT32, Space.HBM)
    return NeuronCodegen("k", [("a", kind)], TRN2, True, View)


def instructions(trace: NeuronCodegen) -> list[Instruction]:
    return [op for op in trace.module.walk() if isinstance(op, Instruction)]


def functions_that_add(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(function, line) of each call that puts an operation into a block."""

    class Visitor(ast.NodeVisitor):
        def __init__(self) -> None:
            self.stack: list[str] = []
            self.found: list[tuple[str, int]] = []

        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            self.stack.append(node.name)
            self.generic_visit(node)
            self.stack.pop()

        def visit_Call(self, node: ast.Call) -> None:
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else ""
            if isinstance(called, ast.Name):
                name = called.id
            if name in ADDING:
                self.found.append((self.stack[-1] if self.stack else "", node.lineno))
            self.generic_visit(node)

    visitor = Visitor()
    visitor.visit(tree)
    return iter(visitor.found)


def test_only_insert_and_scope_add_operations() -> None:
    found: list[tuple[str, str]] = []
    for folder in ("tracer", "nki"):
        for file in (PACKAGE / folder).rglob("*.py"):
            for function, line in functions_that_add(ast.parse(file.read_text())):
                name = file.relative_to(PACKAGE).as_posix()
                found.append((name, function))
                assert function in MAY_ADD, f"{name}:{line} adds operations"
    # Operations that were inserted are put into another order.
    assert found == [
        ("tracer/state.py", "insert"),
        ("tracer/state.py", "insert"),
        ("tracer/state.py", "scope"),
        ("nki/cores.py", "_put"),
    ]


def test_names_are_unique() -> None:
    trace = codegen()
    tile = trace.new_tile((128, 64), DType.FLOAT32)
    trace.memset(value=0.0, dst_tile=tile, name="I2")
    trace.memset(value=0.0, dst_tile=tile)
    trace.memset(value=0.0, dst_tile=tile)
    trace.memset(value=0.0, dst_tile=tile, name="fill")
    trace.memset(value=0.0, dst_tile=tile, name="fill")
    names = [op.inst_name.data for op in instructions(trace) if op.inst_name]
    assert names == ["I2", "I1", "I2.1", "fill", "fill.1"]


def test_dependencies_become_edges() -> None:
    trace = codegen()
    tile = trace.new_tile((128, 64), DType.FLOAT32)
    trace.memset(value=0.0, dst_tile=tile)
    trace.memset(value=1.0, dst_tile=tile, deps=[tile, "I1"])
    after = instructions(trace)[1].after
    assert after is not None
    assert after.render() == 'ordered "I1", ordered "I1"'
    untouched = trace.new_tile((128, 64), DType.FLOAT32)
    with pytest.raises(NKIError, match="was written by no instruction"):
        trace.memset(value=1.0, dst_tile=tile, deps=[untouched])


def test_every_operation_is_at_the_line_that_made_it() -> None:
    trace = codegen()
    tile = trace.new_tile((128, 64), DType.FLOAT32)
    trace.memset(value=0.0, dst_tile=tile)
    trace.tensorscalar(tile, AluOp.ADD, 1.0)
    with trace.scope(LoopKind.PARALLEL, range(2)):
        pass
    lines: list[int] = []

    def visit(operation: Operation) -> None:
        location = operation.location
        assert isinstance(location, FileLineColLoc)
        assert location.filename.data == __file__
        assert location.column.data > 1
        lines.append(location.line.data)

    for op in trace.function.body.block.ops:
        visit(op)
    first = lines[0]
    assert lines == [first, first + 1, first + 2, first + 2, first + 3]


def test_a_gate_is_reported_at_the_line() -> None:
    trace = codegen()
    tile = trace.new_tile((100, 64), DType.FLOAT32)
    other = trace.new_tile((128, 64), DType.FLOAT32)
    with pytest.raises(NKIError) as raised:
        trace.tensor_copy(tile, other)
    error = raised.value
    assert error.message.startswith("number of partitions mismatch in parameters (")
    assert error.location is not None
    text = Path(__file__).read_text().splitlines()
    assert text[error.location.line - 1].strip() == "trace.tensor_copy(tile, other)"
    rendered = str(error).splitlines()
    assert rendered[0].startswith(f"{__file__}:{error.location.line}:9: error: number")
    assert rendered[1:] == ["        trace.tensor_copy(tile, other)", "        ^"]


def test_equal_instructions_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = codegen()
    tile = trace.new_tile((128, 64), DType.FLOAT32)
    calls: list[Instruction] = []
    check = Instruction.check_gates

    def counted(self: Instruction) -> None:
        calls.append(self)
        check(self)

    monkeypatch.setattr(Instruction, "check_gates", counted)
    trace.memset(value=0.0, dst_tile=tile)
    trace.memset(value=0.0, dst_tile=trace.new_tile((128, 64), DType.FLOAT32))
    assert len(calls) == 1
    trace.memset(value=1.0, dst_tile=tile)
    trace.memset(value=0.0, dst_tile=trace.new_tile((64, 64), DType.FLOAT32))
    assert len(calls) == 3


def test_predicates_bring_their_loop_indices_along() -> None:
    trace = codegen()
    with (
        trace.scope(LoopKind.PARALLEL, range(5), "i"),
        trace.scope(LoopKind.SEQUENTIAL, range(3), "j") as j,
        tracing(trace),
    ):
        index = IndexExpr(Affine.index(j.number))
        tile = trace.new_tile((128, 64), DType.FLOAT32)
        mask = index * 128 + arange(128)[:, None] < 300
        source = subscript(View.of(trace.arguments[0]), slice(0, 128))
        trace.memset(value=0.0, dst_tile=tile, mask=mask)
        trace.tensorscalar(tile, AluOp.ADD, 1.0, mask=mask)
        trace.load(source, mask)
    trace.finish([])
    verify(trace.module)
    first, scalar, load = instructions(trace)
    for op in (first, scalar, load):
        assert op.predicates is not None
        assert op.predicates.render() == "299 - d0 * 128 - l0"
        assert list(op.loop_indices()) == [j.operation.index]


def test_a_masked_index_range_is_checked_per_iteration() -> None:
    trace = codegen()
    with trace.scope(LoopKind.PARALLEL, range(3), "i") as i, tracing(trace):
        rows = IndexExpr(Affine.index(i.number)) * 128 + arange(128)[:, None]
        source = subscript(View.of(trace.arguments[0]), (rows, arange(64)[None, :]))
        trace.load(source, rows < 300)
        message = (
            r"tensor `a` on dimension 0 index range \[256, 300\] exceed dimension size "
            "of 300"
        )
        with pytest.raises(NKIError, match=message):
            trace.load(source, rows <= 300)
        with pytest.raises(NKIError, match=r"index range \[256, 383\] exceed"):
            trace.load(source)


def test_what_a_loop_made_is_not_used_after_it() -> None:
    trace = codegen()
    with trace.scope(LoopKind.PARALLEL, range(3), "i") as i:
        tile = trace.new_tile((128, 64), DType.FLOAT32, name="t")
        trace.memset(value=0.0, dst_tile=tile)
    with pytest.raises(NKIError, match="Local variable 't' is referenced outside of"):
        trace.tensor_copy(tile)
    index = IndexExpr(Affine.index(i.number))
    with pytest.raises(NKIError, match="Loop index 'i' is used outside of its loop"):
        trace.load(subscript(View.of(trace.arguments[0]), (slice(0, 64), index)))


def test_combine_tiles() -> None:
    trace = codegen()
    wide = trace.new_tile((128, 64), DType.FLOAT32)
    column = trace.new_tile((128, 1), DType.FLOAT32)
    row = trace.new_tile((1, 64), DType.FLOAT32)
    trace.memset(value=0.0, dst_tile=row)
    found = trace.combine_tiles(wide, column, row, 2.0)
    assert [tile.shape for tile in found] == [(128, 64)] * 4
    assert found[1].layout.pairs == ((1, 128), (0, 64))
    made = [op.name for op in instructions(trace)]
    # A row read by all partitions is a copy, a number a fill.
    assert made == ["penguin.memset", "penguin.tensor_copy", "penguin.memset"]
    with pytest.raises(NKIError, match="could not be broadcast together with shapes"):
        trace.combine_tiles(wide, trace.new_tile((128, 63), DType.FLOAT32))


def test_a_stored_value_is_made_legal() -> None:
    trace = codegen()
    target = subscript(View.of(trace.arguments[0]), slice(0, 128))
    psum = trace.new_tile((128, 64), DType.FLOAT32, Space.PSUM)
    trace.memset(value=0.0, dst_tile=psum)
    trace.store(target, psum)
    trace.store(target, 1)
    made = [op.name for op in instructions(trace)][1:]
    store = "penguin.sb_atom_store"
    assert made == ["penguin.tensor_copy", store, "penguin.memset", store]
    with pytest.raises(NKIError, match="Illegal assignment destination shape in"):
        trace.store(target, trace.new_tile((128, 65), DType.FLOAT32))
    assert trace.finish([]) is trace.module
    assert trace.function.mutable_positions == (0,)


def test_outside_of_a_kernel() -> None:
    assert current_or_none() is None
    with pytest.raises(NKIRuntimeError) as raised:
        current()
    assert raised.value.message == OUTSIDE_KERNEL
    with pytest.raises(RuntimeError):
        current()


def test_traces_nest_and_threads_do_not_share_them() -> None:
    outer, inner = codegen(), codegen()
    seen: list[object] = []
    with tracing(outer):
        thread = threading.Thread(target=lambda: seen.append(current_or_none()))
        thread.start()
        thread.join()
        with tracing(inner):
            assert current() is inner
        assert current() is outer
    assert current_or_none() is None
    assert seen == [None]


def test_a_mask_wider_than_its_tile_is_refused() -> None:
    trace = codegen()
    tile = trace.new_tile((128, 64), DType.FLOAT32)
    with pytest.raises(NKIError, match=r"mask of shape \(2, 1, 1\) does not fit"):
        trace.memset(value=0.0, dst_tile=tile, mask=Mask((Affine.lane(0),), (2, 1, 1)))
