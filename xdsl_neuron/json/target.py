"""The target and the front end `bir-json` of xDSL's tools."""

import json
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.frontend import Frontend
from xdsl.utils.target import Target

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.json import from_json, parse_document, to_json


@dataclass(frozen=True)
class BirJsonTarget(Target):
    """Writes the module as BIR JSON, keys sorted, indented by two."""

    name = "bir-json"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the document."""
        document = to_json(module)
        json.dump(document, output, indent=2, sort_keys=True, ensure_ascii=False)
        output.write("\n")


def read_bir_json(text: str, name: str) -> ModuleOp:
    """
    The module of a JSON text.

    Raises `DiagnosticError` where the text or the document is malformed.
    """
    return from_json(parse_document(text, name), name)


@dataclass(frozen=True)
class BirJsonFrontend(Frontend):
    """Reads BIR JSON."""

    name = "bir-json"

    def parse(self, ctx: Context, input: IO[bytes], input_name: str) -> ModuleOp:
        """The module of a UTF-8 file."""
        try:
            text = input.read().decode()
        except UnicodeDecodeError as error:
            raise DiagnosticError(None, f"invalid UTF-8: {error.reason}") from error
        return read_bir_json(text, input_name)
