"""A module through BIR JSON and back."""

import json

from levels import parse, print_module

from xdsl_neuron.json import from_json, parse_document, to_json
from xdsl_neuron.verification import verify


def round_trip(text: str) -> str:
    document = json.dumps(to_json(parse(text)), indent=2, sort_keys=True)
    module = from_json(parse_document(document, "file.json"))
    verify(module)
    return print_module(module)


def check(text: str) -> None:
    text = print_module(parse(text))
    assert round_trip(text) == text
