"""
The `xdsl.universe` plug-in: what any xDSL tool finds once this package is installed.

Only factories, which import when called: discovery costs nothing, and nothing here can
fail while a tool that merely looks for plug-ins starts up.
"""

from xdsl.ir import Dialect
from xdsl.universe import Universe
from xdsl.utils.frontend import Frontend
from xdsl.utils.target import Target

from xdsl_neuron.passes import get_all_passes


def get_neuron() -> Dialect:
    from xdsl_neuron.dialects.neuron import Neuron

    return Neuron


def get_penguin() -> Dialect:
    from xdsl_neuron.dialects.penguin import Penguin

    return Penguin


def get_bir() -> Dialect:
    from xdsl_neuron.dialects.bir import Bir

    return Bir


def get_dma() -> Dialect:
    from xdsl_neuron.dialects.dma import Dma

    return Dma


def get_neuron_run() -> type[Target]:
    from xdsl_neuron.machine.target import NeuronRunTarget

    return NeuronRunTarget


def get_bir_json_target() -> type[Target]:
    from xdsl_neuron.json.target import BirJsonTarget

    return BirJsonTarget


def get_bir_json_frontend() -> type[Frontend]:
    from xdsl_neuron.json.target import BirJsonFrontend

    return BirJsonFrontend


UNIVERSE = Universe(
    all_dialects={
        "neuron": get_neuron,
        "penguin": get_penguin,
        "bir": get_bir,
        "dma": get_dma,
    },
    all_passes=get_all_passes(),
    all_targets={"neuron-run": get_neuron_run, "bir-json": get_bir_json_target},
    all_frontends={"bir-json": get_bir_json_frontend},
)
