"""A module of the `bir` dialect from BIR JSON, version 1 or 2."""

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr

from xdsl_neuron.arch import get_arch
from xdsl_neuron.dialects.bir import FuncOp
from xdsl_neuron.dialects.dma import BlockOp
from xdsl_neuron.dialects.neuron import TargetAttr
from xdsl_neuron.json.document import Json, Node, Text
from xdsl_neuron.json.function_read import FunctionReader
from xdsl_neuron.json.instruction_read import extension
from xdsl_neuron.json.values import attributes_from_json


def from_json(data: "Json | Node", name: str = "<json>") -> ModuleOp:
    """
    The module of a document, verified as far as building it needs.

    Raises `DiagnosticError` where the document is malformed: the file `name`, the JSON
    path, and what was expected.
    """
    root = data if isinstance(data, Node) else Node(Text(name, ""), data, "", 0)
    return _ModuleReader(root).read()


@dataclass
class _ModuleReader:
    root: Node
    version: int = 2
    functions: dict[str, FunctionReader] = field(
        default_factory=dict[str, FunctionReader]
    )
    queues: dict[str, bool] = field(default_factory=dict[str, bool])
    """Queues by name, each with whether it stands for having none."""
    blocks: dict[str, BlockOp] = field(default_factory=dict[str, BlockOp])

    def read(self) -> ModuleOp:
        root = self.root
        root.object()
        self.version = root.child("version").integer()
        if self.version not in (1, 2):
            root.child("version").fail(
                "Check the version of bir json file - should be 1 (old) or 2 (new)"
            )
        if root.elements("nki_functions"):
            root.child("nki_functions").fail("NKI functions are not supported")
        module = ModuleOp([])
        module.location = root.text.location(root.start)
        self._attributes(module)
        self._queues()
        for node in root.child("functions").array():
            self._function(module, node)
        for queue in root.elements("queues"):
            self._dma_blocks(queue)
        for function in self.functions.values():
            function.resolve()
        return module

    def _attributes(self, module: ModuleOp) -> None:
        arch = self.root.get("arch")
        if arch is not None:
            try:
                target = get_arch(arch.string()).name
            except ValueError as error:
                arch.fail(str(error))
            module.attributes["neuron.target"] = TargetAttr(target)
        extra = extension(self.root)
        module.attributes.update(attributes_from_json(extra.get("attributes")))
        name = extra.get("name")
        if name is not None:
            module.properties["sym_name"] = StringAttr(name.name())

    def _queues(self) -> None:
        for queue in self.root.elements("queues"):
            name = queue.child("name").string()
            if name in self.queues:
                queue.fail(f"queue '{name}' is given twice")
            unassigned = extension(queue).get("unassigned")
            self.queues[name] = unassigned is not None and unassigned.boolean()

    def _function(self, module: ModuleOp, node: Node) -> None:
        name = node.child("name").name()
        if name in self.functions:
            node.fail(f"function '{name}' is given twice")
        reader = FunctionReader(self, node, FuncOp.make(name))
        self.functions[name] = reader
        reader.build()
        module.body.block.add_op(reader.function)

    def _dma_blocks(self, queue: Node) -> None:
        for block in queue.elements("blocks"):
            for node in block.elements("instructions"):
                opcode = node.child("opcode").string()
                if opcode != "DMABlock":
                    node.fail(f"a queue holds DMABlocks, got {opcode}")
                self._dma_block(node)

    def _dma_block(self, node: Node) -> None:
        name = node.child("name").name()
        if name in self.blocks:
            node.fail(f"block '{name}' is given twice")
        function = self._owner(node)
        self.blocks[name] = function.dma_block(node, name)

    def names_instruction(self, name: str) -> bool:
        """Whether any function has an instruction of this name."""
        return any(name in function.labels for function in self.functions.values())

    def _owner(self, node: Node) -> FunctionReader:
        """The function of a block: as stated, or of its trigger, or the only one."""
        stated = extension(node).get("function")
        if stated is not None:
            found = self.functions.get(stated.string())
            if found is None:
                stated.fail(f"function '{stated.value}' does not exist")
            return found
        trigger = node.get("dma_trigger")
        for function in self.functions.values():
            if trigger is not None and trigger.string() in function.labels:
                return function
        if len(self.functions) != 1:
            node.fail("cannot tell which function the block belongs to")
        return next(iter(self.functions.values()))
