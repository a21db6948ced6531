"""Attributes shared by all levels: enumerations, accesses, predicates, edges."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, Generic, NamedTuple, Self, TypeAlias, TypeVar

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from xdsl_neuron import isa
from xdsl_neuron.arch import get_arch
from xdsl_neuron.dialects.neuron.access import Access, Pair
from xdsl_neuron.dialects.neuron.text import Cursor, resume, symbol_text
from xdsl_neuron.dialects.neuron.types import scan_dtype
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import EdgeKind, LoopKind

IndexName: TypeAlias = Callable[[int], str]
T = TypeVar("T")


def position_name(position: int) -> str:
    """How a loop index is written inside an attribute."""
    return f"d{position}"


class TextAttribute(Data[T], Generic[T]):
    """An attribute whose body is read by a `Cursor`, alone or within an operation."""

    @classmethod
    @abstractmethod
    def scan(cls, cursor: Cursor) -> T:
        """Reads the body."""

    @abstractmethod
    def render(self, index_name: IndexName = position_name) -> str:
        """The body as text; `index_name` writes loop indices."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> T:
        """`<` body `>`."""
        cursor = Cursor.at(parser)
        cursor.expect("<")
        data = cls.scan(cursor)
        cursor.expect(">")
        resume(parser, cursor.pos)
        return data

    def print_parameter(self, printer: Printer) -> None:
        """The body in angle brackets."""
        printer.print_string(f"<{self.render()}>")


class Expressions(TextAttribute[T], Generic[T]):
    """An attribute made of expressions of loop indices, registers and lanes."""

    @abstractmethod
    def mapped(self, change: Callable[[Affine], Affine]) -> Self:
        """The attribute with each of its expressions changed."""


@irdl_attr_definition
class EngineAttr(EnumAttribute[isa.Engine], SpacedOpaqueSyntaxAttribute):
    """An engine."""

    name = "neuron.engine"


@irdl_attr_definition
class AluOpAttr(EnumAttribute[isa.AluOp], SpacedOpaqueSyntaxAttribute):
    """An ALU operation."""

    name = "neuron.alu"


@irdl_attr_definition
class ActivationFunctionAttr(
    EnumAttribute[isa.ActivationFunction], SpacedOpaqueSyntaxAttribute
):
    """An activation function."""

    name = "neuron.func"


@irdl_attr_definition
class DgeTypeAttr(EnumAttribute[isa.DgeType], SpacedOpaqueSyntaxAttribute):
    """Who builds a DMA's descriptors."""

    name = "neuron.dge"


@irdl_attr_definition
class OobModeAttr(EnumAttribute[isa.OobMode], SpacedOpaqueSyntaxAttribute):
    """What an out-of-bounds index does."""

    name = "neuron.oob"


@irdl_attr_definition
class QosClassAttr(EnumAttribute[isa.QosClass], SpacedOpaqueSyntaxAttribute):
    """A DMA quality-of-service class."""

    name = "neuron.qos"


@irdl_attr_definition
class CopyModeAttr(EnumAttribute[isa.CopyMode], SpacedOpaqueSyntaxAttribute):
    """What a DMACopy does."""

    name = "neuron.copy_mode"


@irdl_attr_definition
class TransposeOpAttr(EnumAttribute[isa.TransposeOp], SpacedOpaqueSyntaxAttribute):
    """A permutation of four axes."""

    name = "neuron.transpose"


@irdl_attr_definition
class AccumulateCommandAttr(
    EnumAttribute[isa.AccumulateCommand], SpacedOpaqueSyntaxAttribute
):
    """A command to an engine's accumulator."""

    name = "neuron.accumulator"


@irdl_attr_definition
class RandomAlgorithmAttr(
    EnumAttribute[isa.RandomAlgorithm], SpacedOpaqueSyntaxAttribute
):
    """A generator of random bits."""

    name = "neuron.random_algorithm"


@irdl_attr_definition
class RandomDistributionAttr(
    EnumAttribute[isa.RandomDistribution], SpacedOpaqueSyntaxAttribute
):
    """What is made of random bits."""

    name = "neuron.random_distribution"


@irdl_attr_definition
class MatmulAccumulateAttr(
    EnumAttribute[isa.MatmulAccumulate], SpacedOpaqueSyntaxAttribute
):
    """How a matmul meets what its destination holds."""

    name = "neuron.accumulate"


@irdl_attr_definition
class MatmulPerfModeAttr(
    EnumAttribute[isa.MatmulPerfMode], SpacedOpaqueSyntaxAttribute
):
    """How many elements a cell of the tensor engine's array works on."""

    name = "neuron.perf_mode"


@irdl_attr_definition
class LoopKindAttr(EnumAttribute[isa.LoopKind], SpacedOpaqueSyntaxAttribute):
    """The axis type of a loop."""

    name = "neuron.loop"


@irdl_attr_definition
class TensorKindAttr(EnumAttribute[isa.TensorKind], SpacedOpaqueSyntaxAttribute):
    """What a memory location is to the caller."""

    name = "neuron.kind"


@irdl_attr_definition
class DTypeAttr(TextAttribute[DType]):
    """`#neuron.dtype<bf16>`."""

    name = "neuron.dtype"

    @classmethod
    def scan(cls, cursor: Cursor) -> DType:
        """Reads the IR name."""
        return scan_dtype(cursor)

    def render(self, index_name: IndexName = position_name) -> str:
        """The IR name."""
        return self.data.ir_name


@irdl_attr_definition
class TargetAttr(TextAttribute[str]):
    """`#neuron.target<trn2>`: the generation a module is compiled for."""

    name = "neuron.target"

    @classmethod
    def scan(cls, cursor: Cursor) -> str:
        """Reads and checks the generation's name."""
        start = cursor.pos
        word = cursor.word()
        try:
            return get_arch(word).name
        except ValueError as error:
            cursor.fail(str(error), start)

    def render(self, index_name: IndexName = position_name) -> str:
        """The generation's name."""
        return self.data


@irdl_attr_definition
class ImmediateAttr(TextAttribute[str]):
    """
    `#neuron.imm<2.0>`: a number as an instruction carries it.

    The data is its canonical literal, so that 1 and 1.0 differ and NaN equals NaN.
    """

    name = "neuron.imm"

    @staticmethod
    def of(value: float) -> "ImmediateAttr":
        """The attribute for a Python number."""
        return ImmediateAttr(repr(value))

    @property
    def value(self) -> int | float:
        """The number: an `int` where the literal has no fraction."""
        text = self.data
        return int(text) if text.lstrip("-").isdigit() else float(text)

    @classmethod
    def scan(cls, cursor: Cursor) -> str:
        """Reads a number."""
        return repr(cursor.number())

    def render(self, index_name: IndexName = position_name) -> str:
        """The literal."""
        return self.data


@irdl_attr_definition
class ImmediatesAttr(TextAttribute[tuple[str, ...]]):
    """`#neuron.imms<[1.0, 0.5]>`: numbers, each as an instruction carries it."""

    name = "neuron.imms"

    @staticmethod
    def of(values: Iterable[float]) -> "ImmediatesAttr":
        """The attribute for Python numbers."""
        return ImmediatesAttr(tuple(repr(value) for value in values))

    @property
    def immediates(self) -> tuple[ImmediateAttr, ...]:
        """The numbers, one by one."""
        return tuple(ImmediateAttr(text) for text in self.data)

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[str, ...]:
        """Reads the list."""
        cursor.expect("[")
        found: list[str] = []
        while not cursor.accept("]"):
            if found:
                cursor.expect(",")
            found.append(ImmediateAttr.scan(cursor))
        return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The list."""
        return f"[{', '.join(self.data)}]"


@irdl_attr_definition
class AffineAttr(Expressions[Affine]):
    """`#neuron.affine<d0 * 2 + 1>`."""

    name = "neuron.affine"

    def mapped(self, change: Callable[[Affine], Affine]) -> "AffineAttr":
        """The expression changed."""
        return AffineAttr(change(self.data))

    @classmethod
    def scan(cls, cursor: Cursor) -> Affine:
        """Reads an expression."""
        return cursor.affine()

    def render(self, index_name: IndexName = position_name) -> str:
        """The expression."""
        return self.data.render(index_name)


@irdl_attr_definition
class PredicatesAttr(Expressions[tuple[Affine, ...]]):
    """
    `#neuron.where<44 - l0, ...>`: expressions that must all be >= 0.

    `d0` is a loop index, `l0` the coordinate along an instruction's first lane. (The
    comparison itself is not part of the attribute: `>` would end it for MLIR.)
    """

    name = "neuron.where"

    def mapped(self, change: Callable[[Affine], Affine]) -> "PredicatesAttr":
        """Each predicate changed."""
        return PredicatesAttr(tuple(map(change, self.data)))

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[Affine, ...]:
        """Reads expressions separated by commas."""
        found = [cursor.affine()]
        while cursor.accept(","):
            found.append(cursor.affine())
        return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The expressions separated by commas."""
        return ", ".join(p.render(index_name) for p in self.data)

    @staticmethod
    def scan_clause(cursor: Cursor) -> "PredicatesAttr":
        """Reads `expression >= 0 and ...` behind `where`."""
        found: list[Affine] = []
        while not found or cursor.keyword("and"):
            found.append(cursor.affine())
            cursor.expect(">=")
            start = cursor.pos
            if cursor.integer() != 0:
                cursor.fail("a predicate compares with 0", start)
        return PredicatesAttr(tuple(found))

    def render_clause(self, index_name: IndexName) -> str:
        """The text `scan_clause` reads."""
        return " and ".join(f"{p.render(index_name)} >= 0" for p in self.data)


WHOLE: Final = "whole"


@irdl_attr_definition
class AccessesAttr(Expressions[tuple[Access | None, ...]]):
    """
    `#neuron.accesses<whole, [0][1000 x 44, 1 x 1000]>`.

    One access per data operand an operation's class declares, in that order; `whole`
    (None) covers the tensor. `[offset]` is HBM, `[partition, offset]` on chip.
    """

    name = "neuron.accesses"

    def mapped(self, change: Callable[[Affine], Affine]) -> "AccessesAttr":
        """The start of each access changed."""
        return AccessesAttr(
            tuple(
                None if access is None else access.mapped(change)
                for access in self.data
            )
        )

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[Access | None, ...]:
        """Reads accesses separated by commas."""
        found: list[Access | None] = []
        while True:
            found.append(None if cursor.keyword(WHOLE) else scan_access(cursor))
            if not cursor.accept(","):
                return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The accesses separated by commas."""
        return ", ".join(
            WHOLE if access is None else render_access(access, index_name)
            for access in self.data
        )


def scan_access(cursor: Cursor) -> Access:
    """Reads `[offset][step x num, ...]`, `[partition, offset][...]`, ` as dtype`."""
    cursor.expect("[")
    first = cursor.affine()
    partition = None
    if cursor.accept(","):
        partition, first = first, cursor.affine()
    cursor.expect("]")
    cursor.expect("[")
    pairs: list[Pair] = []
    if not cursor.accept("]"):
        while True:
            pairs.append(_scan_pair(cursor))
            if not cursor.accept(","):
                break
        cursor.expect("]")
    dtype = scan_dtype(cursor) if cursor.keyword("as") else None
    return Access(first, tuple(pairs), partition, dtype)


def _scan_pair(cursor: Cursor) -> Pair:
    step = cursor.integer()
    if not cursor.keyword("x"):
        cursor.fail("expected 'x' between step and num")
    start = cursor.pos
    num = cursor.integer()
    if num <= 0:
        cursor.fail(f"num must be positive, got {num}", start)
    return step, num


def render_access(access: Access, index_name: IndexName = position_name) -> str:
    """The text `scan_access` reads."""
    where = access.offset.render(index_name)
    if access.partition is not None:
        where = f"{access.partition.render(index_name)}, {where}"
    pairs = ", ".join(f"{step} x {num}" for step, num in access.pairs)
    suffix = "" if access.dtype is None else f" as {access.dtype.ir_name}"
    return f"[{where}][{pairs}]{suffix}"


@irdl_attr_definition
class SymbolsAttr(TextAttribute[tuple[str, ...]]):
    """`#neuron.symbols<[@I3_0, @I3_1]>`: names."""

    name = "neuron.symbols"

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """The attribute for these names."""
        return cls(tuple(names))

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[str, ...]:
        """Reads `[@name, ...]`."""
        cursor.expect("[")
        found: list[str] = []
        while not cursor.accept("]"):
            if found:
                cursor.expect(",")
            found.append(cursor.symbol())
        return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The names in brackets."""
        return f"[{', '.join(symbol_text(name) for name in self.data)}]"


@irdl_attr_definition
class EdgesAttr(TextAttribute[tuple[tuple[EdgeKind, str], ...]]):
    """`#neuron.after<flow "I2", anti "I3">`: instructions this one must follow."""

    name = "neuron.after"

    in_use: ClassVar[bool] = False
    """Whether any instruction has ever had edges."""

    def __post_init__(self) -> None:
        EdgesAttr.in_use = True
        super().__post_init__()

    @classmethod
    def of(cls, edges: Sequence[tuple[EdgeKind, str]]) -> Self:
        """The attribute for these edges."""
        return cls(tuple(edges))

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[tuple[EdgeKind, str], ...]:
        """Reads `kind "name"` items separated by commas."""
        found: list[tuple[EdgeKind, str]] = []
        while True:
            kind = cursor.enum(EdgeKind)
            found.append((kind, cursor.string()))
            if not cursor.accept(","):
                return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The edges separated by commas."""
        return ", ".join(f'{kind} "{name}"' for kind, name in self.data)


class Iteration(NamedTuple):
    """A turn of a loop: its kind, its name in the function, its index's value."""

    kind: LoopKind
    loop: str
    value: int

    def __str__(self) -> str:
        return f'{self.kind} "{self.loop}" {self.value}'


@irdl_attr_definition
class IterationsAttr(TextAttribute[tuple[Iteration, ...]]):
    """
    `#neuron.iterations<[parallel "i" 2, sequential "k" 0]>`: outermost loop first.

    Which turns of unrolled loops an instruction belongs to (design.md 7b).
    """

    name = "neuron.iterations"

    @classmethod
    def scan(cls, cursor: Cursor) -> tuple[Iteration, ...]:
        """Reads `[kind "loop" value, ...]`."""
        cursor.expect("[")
        found: list[Iteration] = []
        while not cursor.accept("]"):
            if found:
                cursor.expect(",")
            kind = cursor.enum(LoopKind)
            found.append(Iteration(kind, cursor.string(), cursor.integer()))
        return tuple(found)

    def render(self, index_name: IndexName = position_name) -> str:
        """The turns in brackets."""
        return f"[{', '.join(str(each) for each in self.data)}]"
