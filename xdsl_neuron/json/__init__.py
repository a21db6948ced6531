"""
BIR JSON: the documented file form of the `bir` and `dma` dialects (bir.md 4).

    document = to_json(module)
    module = from_json(document, "kernel.json")

Whatever has no documented key stands under `xdsl_neuron`, so that writing and reading
back is the identity.
"""

from xdsl_neuron.json.document import parse_document
from xdsl_neuron.json.keys import EXTENSION
from xdsl_neuron.json.read import from_json
from xdsl_neuron.json.write import to_json

__all__ = ["EXTENSION", "from_json", "parse_document", "to_json"]
