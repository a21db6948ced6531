"""
Functions, loops and buffers, whatever the level.

`penguin` and `bir` give these their names; what they are is the same.
"""

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    MemoryAllocEffect,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.capacity import (
    Sized,
    placements_attribute,
    render_storage,
    scan_storage,
)
from xdsl_neuron.dialects.instruction_text import integer
from xdsl_neuron.dialects.neuron import (
    Contents,
    ContentsAttr,
    ImmediateAttr,
    LoopKindAttr,
    TensorType,
)
from xdsl_neuron.dialects.neuron.text import Cursor, resume
from xdsl_neuron.dialects.neuron.types import render_tensor_spec, scan_tensor_spec
from xdsl_neuron.isa import LoopKind, Space

MUTABLE = "inout"


def check_not_nested(function: Operation) -> None:
    """Kernels do not stand in kernels: passes take the operations of each."""
    parent = function.parent_op()
    while parent is not None:
        if isinstance(parent, type(function)):
            raise VerifyException(
                "stands inside another function; functions stand side by side in a "
                "module"
            )
        parent = parent.parent_op()


class Function(IRDLOperation):
    """
    A kernel: HBM tensors in, HBM tensors out.

    `arg_names` are the names callers use; the arguments at the positions `mutable`
    are also written. `penguin.return` names the outputs.

        penguin.func @add(a = %a: !neuron.tensor<8x4xf32, hbm>, inout b = %b: ...) {
    """

    sym_name = prop_def(SymbolNameConstraint())
    arg_names = prop_def(ArrayAttr[StringAttr])
    mutable = prop_def(
        DenseArrayBase.constr(i64), default_value=DenseArrayBase.from_list(i64, [])
    )
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    @classmethod
    def make(
        cls,
        name: str,
        arguments: Sequence[tuple[str, TensorType]],
        mutable: Sequence[int] = (),
    ) -> Self:
        """A function with an empty body; block arguments are hinted with the names."""
        block = Block(arg_types=[kind for _, kind in arguments])
        for argument, (hint, _) in zip(block.args, arguments, strict=True):
            if SSAValue.is_valid_name(hint):
                argument.name_hint = hint
        return cls.create(
            properties={
                "sym_name": StringAttr(name),
                "arg_names": ArrayAttr([StringAttr(hint) for hint, _ in arguments]),
                "mutable": DenseArrayBase.from_list(i64, list(mutable)),
            },
            regions=[Region(block)],
        )

    @property
    def arguments(self) -> Sequence[BlockArgument]:
        """The block arguments."""
        return self.body.block.args

    @property
    def names(self) -> tuple[str, ...]:
        """The argument names."""
        return tuple(name.data for name in self.arg_names)

    @property
    def mutable_positions(self) -> tuple[int, ...]:
        """Positions of the arguments that are written."""
        return self.mutable.get_values()

    def verify_(self) -> None:
        """One name per argument; arguments are tensors in HBM."""
        check_not_nested(self)
        names = self.names
        if len(names) != len(self.arguments):
            raise VerifyException(
                f"has {len(self.arguments)} arguments and {len(names)} names"
            )
        if len(set(names)) != len(names):
            raise VerifyException(f"argument names {list(names)} are not distinct")
        for position in self.mutable_positions:
            if not 0 <= position < len(names):
                raise VerifyException(f"no argument {position} to be mutable")
        for name, argument in zip(names, self.arguments, strict=True):
            kind = argument.type
            if not isinstance(kind, TensorType) or kind.space is not Space.HBM:
                raise VerifyException(
                    f"argument '{name}' has type {kind}, expected a tensor in hbm"
                )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the text form."""
        name = parser.parse_symbol_name()
        names: list[StringAttr] = []
        mutable: list[int] = []
        locations: list[LocationAttr | None] = []

        def argument() -> Parser.Argument:
            name = parser.parse_optional_str_literal() or parser.parse_identifier()
            if name == MUTABLE and parser.parse_optional_punctuation("=") is None:
                mutable.append(len(names))
                name = parser.parse_optional_str_literal() or parser.parse_identifier()
                parser.parse_punctuation("=")
            elif name != MUTABLE:
                parser.parse_punctuation("=")
            names.append(StringAttr(name))
            found = parser.parse_argument()
            locations.append(parser.parse_optional_location())
            return found

        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, argument, " in function arguments"
        )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(arguments)
        if not region.blocks:
            region.add_block(Block())
        for value, location in zip(region.block.args, locations, strict=False):
            if location is not None:
                value.location = location
        return cls.create(
            properties={
                "sym_name": name,
                "arg_names": ArrayAttr(names),
                "mutable": DenseArrayBase.from_list(i64, mutable),
            },
            attributes=attributes.data if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Writes the text form."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        mutable = self.mutable_positions
        printer.print_string("(")
        for position, (name, argument) in enumerate(
            zip(self.names, self.arguments, strict=True)
        ):
            if position:
                printer.print_string(", ")
            if position in mutable:
                printer.print_string(f"{MUTABLE} ")
            printer.print_identifier_or_string_literal(name)
            printer.print_string(" = ")
            printer.print_block_argument(argument)
        printer.print_string(")")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


class Return(IRDLOperation):
    """Ends a function and names its outputs: `penguin.return out = %c`."""

    outputs = var_operand_def(TensorType)
    names = prop_def(ArrayAttr[StringAttr])

    traits = traits_def(IsTerminator())

    @classmethod
    def make(cls, outputs: Sequence[tuple[str, SSAValue]]) -> Self:
        """Returns tensors in HBM under their names."""
        return cls.create(
            operands=[value for _, value in outputs],
            properties={"names": ArrayAttr([StringAttr(name) for name, _ in outputs])},
        )

    @property
    def output_names(self) -> tuple[str, ...]:
        """The outputs' names."""
        return tuple(name.data for name in self.names)

    def verify_(self) -> None:
        """One distinct name per output; outputs are tensors in HBM."""
        names = self.output_names
        if len(names) != len(self.outputs):
            raise VerifyException(
                f"has {len(self.outputs)} outputs and {len(names)} names"
            )
        if len(set(names)) != len(names):
            raise VerifyException(f"output names {list(names)} are not distinct")
        for name, value in zip(names, self.outputs, strict=True):
            kind = value.type
            if not isinstance(kind, TensorType) or kind.space is not Space.HBM:
                raise VerifyException(
                    f"output '{name}' has type {kind}, expected a tensor in hbm"
                )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `name = %value, ...`."""
        cursor = Cursor.at(parser)
        names: list[StringAttr] = []
        values: list[SSAValue] = []
        while True:
            if cursor.peek('"'):
                name = cursor.string()
            else:
                saved = cursor.pos
                name = cursor.optional_word() if not names else cursor.word()
                if name is None or not cursor.peek("="):
                    cursor.pos = saved
                    break
            cursor.expect("=")
            names.append(StringAttr(name))
            values.append(cursor.value())
            if not cursor.accept(","):
                break
        resume(parser, cursor.pos)
        return cls.create(operands=values, properties={"names": ArrayAttr(names)})

    def print(self, printer: Printer) -> None:
        """Writes `name = %value, ...`."""
        for position, (name, value) in enumerate(
            zip(self.output_names, self.outputs, strict=True)
        ):
            printer.print_string(", " if position else " ")
            printer.print_identifier_or_string_literal(name)
            printer.print_string(" = ")
            printer.print_ssa_value(value)


class For(IRDLOperation):
    """
    A rolled loop with static bounds; the body is one block with the index.

    `parallel`: iterations are independent; `sequential`: in order; `spmd` and
    `shard`: an axis of the launch grid.

        penguin.for parallel %i = 0 to 3 { ... }
    """

    kind = prop_def(LoopKindAttr)
    lower = prop_def(IntegerAttr)
    upper = prop_def(IntegerAttr)
    step = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def make(
        cls, kind: LoopKind, lower: int, upper: int, step: int = 1, hint: str = "i"
    ) -> Self:
        """A loop with an empty body."""
        block = Block(arg_types=[IndexType()])
        block.args[0].name_hint = hint if SSAValue.is_valid_name(hint) else "i"
        return cls.create(
            properties={
                "kind": LoopKindAttr(kind),
                "lower": integer(lower),
                "upper": integer(upper),
                "step": integer(step),
            },
            regions=[Region(block)],
        )

    @property
    def index(self) -> BlockArgument:
        """The loop index."""
        return self.body.block.args[0]

    def static_range(self) -> range:
        """The values the index takes, in order."""
        return range(self.lower.value.data, self.upper.value.data, self.step.value.data)

    def verify_(self) -> None:
        """A positive step and an index argument."""
        arguments = self.body.block.args
        if len(arguments) != 1 or arguments[0].type != IndexType():
            raise VerifyException("loop body takes exactly one index argument")
        if self.step.value.data <= 0:
            raise VerifyException(
                f"loop step must be positive, got {self.step.value.data}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the text form."""
        cursor = Cursor.at(parser)
        kind = cursor.enum(LoopKind)
        resume(parser, cursor.pos)
        argument = parser.parse_argument(expect_type=False).resolve(IndexType())
        cursor = Cursor.at(parser)
        cursor.expect("=")
        lower = cursor.integer()
        if not cursor.keyword("to"):
            cursor.fail("expected 'to'")
        upper = cursor.integer()
        step = cursor.integer() if cursor.keyword("step") else 1
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region([argument])
        operation = cls.create(
            properties={
                "kind": LoopKindAttr(kind),
                "lower": integer(lower),
                "upper": integer(upper),
                "step": integer(step),
            },
            regions=[region],
        )
        if attributes is not None:
            operation.attributes.update(attributes.data)
        return operation

    def print(self, printer: Printer) -> None:
        """Writes the text form."""
        printer.print_string(f" {self.kind.data} ")
        printer.print_ssa_value(self.index)
        step = self.step.value.data
        suffix = f" step {step}" if step != 1 else ""
        printer.print_string(
            f" = {self.lower.value.data} to {self.upper.value.data}{suffix} "
        )
        if self.attributes:
            printer.print_string("attributes ")
            printer.print_attr_dict(self.attributes)
            printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_empty_block=False
        )


class Alloc(Sized):
    """
    A buffer, fresh each time the operation executes.

    `init` is the value elements have that nothing writes. `blocks` is the number of
    tiles that a tensor with block dimensions stands for, `at` where the kernel wants
    each of them: partition, byte. `expand` asks for a copy per
    iteration of the loops around it, see `penguin-scalar-expansion`.

        %t = penguin.alloc expand init 0.0 : <128x512xf32, sbuf>
        %p = penguin.alloc blocks 16 : <128x16x512xf32, psum>
        %l = penguin.alloc blocks 2 at [(0, 0), (0, 2048)] : <128x2x512xf32, psum>
    """

    HEADER: ClassVar[tuple[str, ...]] = ()

    init = opt_prop_def(ImmediateAttr)
    expand = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(MemoryAllocEffect())

    @classmethod
    def make(
        cls,
        kind: TensorType,
        hint: str | None = None,
        init: float | None = None,
        *,
        expand: bool = False,
        blocks: int = 1,
        addresses: Sequence[int] = (),
    ) -> Self:
        """A buffer of this type; `hint` names the value in text."""
        properties: dict[str, Attribute] = {}
        if blocks != 1:
            properties["blocks"] = IntegerAttr(blocks, i64)
        if addresses:
            properties["addresses"] = placements_attribute(addresses)
        if expand:
            properties["expand"] = UnitAttr()
        if init is not None:
            properties["init"] = ImmediateAttr.of(init)
        operation = cls.create(result_types=[kind], properties=properties)
        if hint is not None and SSAValue.is_valid_name(hint):
            operation.results[0].name_hint = hint
        return operation

    @property
    def tensor(self) -> TensorType:
        """The buffer's type."""
        kind = self.results[0].type
        assert isinstance(kind, TensorType)
        return kind

    def verify_(self) -> None:
        """The gates."""
        self.check_gates()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `[blocks n] [at addresses] [expand] [init value] : <shape, space>`."""
        cursor = Cursor.at(parser)
        properties = scan_storage(cursor)
        if cursor.keyword("expand"):
            properties["expand"] = UnitAttr()
        if cursor.keyword("init"):
            properties["init"] = ImmediateAttr(ImmediateAttr.scan(cursor))
        cursor.expect(":")
        kind = scan_type(cursor)
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operation = cls.create(result_types=[kind], properties=properties)
        if attributes is not None:
            operation.attributes.update(attributes.data)
        return operation

    def print(self, printer: Printer) -> None:
        """Writes what `parse` reads."""
        expand = "" if self.expand is None else " expand"
        init = "" if self.init is None else f" init {self.init.data}"
        body = render_tensor_spec(self.tensor.data)
        printer.print_string(f"{render_storage(self)}{expand}{init} : {body}")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)


class Constant(IRDLOperation):
    """
    A read-only tensor in HBM.

        %id = penguin.constant identity : <128x128xbf16, hbm>
    """

    contents = prop_def(ContentsAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    @classmethod
    def make(
        cls, contents: Contents, kind: TensorType, hint: str | None = None
    ) -> Self:
        """A constant with these contents."""
        operation = cls.create(
            result_types=[kind], properties={"contents": ContentsAttr(contents)}
        )
        if hint is not None and SSAValue.is_valid_name(hint):
            operation.results[0].name_hint = hint
        return operation

    @property
    def tensor(self) -> TensorType:
        """The constant's type."""
        kind = self.results[0].type
        assert isinstance(kind, TensorType)
        return kind

    def verify_(self) -> None:
        """In HBM; contents that fill the type."""
        if self.tensor.space is not Space.HBM:
            raise VerifyException(
                f"a constant is in hbm, got {self.tensor.space}; load it to SBUF"
            )
        self.contents.check(self.tensor.data)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `contents : <shape, space>`."""
        cursor = Cursor.at(parser)
        contents = ContentsAttr.scan(cursor)
        cursor.expect(":")
        kind = scan_type(cursor)
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operation = cls.make(contents, kind)
        if attributes is not None:
            operation.attributes.update(attributes.data)
        return operation

    def print(self, printer: Printer) -> None:
        """Writes `contents : <shape, space>`."""
        body = render_tensor_spec(self.tensor.data)
        printer.print_string(f" {self.contents.render()} : {body}")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)


def scan_type(cursor: Cursor) -> TensorType:
    """Reads a tensor type, its dialect prefix left out."""
    start = cursor.pos
    spec = scan_tensor_spec(cursor)
    try:
        return TensorType.of(spec.shape, spec.dtype, spec.space)
    except VerifyException as error:
        cursor.fail(str(error), start)
