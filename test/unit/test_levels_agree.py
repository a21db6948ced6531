"""A function gives the same bytes at each level, from text that was printed."""

from io import StringIO

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.transforms import get_all_passes as get_upstream_passes

from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.machine import MachineOptions, simulate
from xdsl_neuron.passes import get_all_passes
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir
from xdsl_neuron.verification import verify


def context() -> Context:
    found = Context()
    found.load_dialect(Builtin)
    register_dialects(found)
    return found


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    verify(module)
    return module


def text_of(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


def run_pass(text: str, step: ModulePass) -> str:
    module = parse(text)
    step.apply(context(), module)
    verify(module)
    return text_of(module)
