"""The passes, one module each, named as on the command line."""

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES = {
    "penguin-const-rewrite": "PenguinConstRewrite",
    "penguin-lower-predicates": "PenguinLowerPredicates",
    "penguin-scalar-expansion": "PenguinScalarExpansion",
    "penguin-lower-transpose": "PenguinLowerTranspose",
    "penguin-lower-broadcast": "PenguinLowerBroadcast",
    "penguin-initialize-tensors": "PenguinInitializeTensors",
    "convert-penguin-to-bir": "ConvertPenguinToBir",
    "bir-unroll": "BirUnroll",
    "bir-legalize-mm-accumulation-groups": "BirLegalizeMmAccumulationGroups",
    "bir-lower-dma": "BirLowerDma",
}
_PIPELINES = {
    "penguin-to-bir": "PenguinToBir",
    "bir-to-dma": "BirToDma",
    "neuron": "NeuronPipeline",
}


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The passes by name; each factory imports its pass when it is first used."""

    def factory(module: str, attribute: str) -> Callable[[], type[ModulePass]]:
        def load() -> type[ModulePass]:
            return getattr(import_module(f"{__name__}.{module}"), attribute)

        return load

    passes = {
        name: factory(name.replace("-", "_"), attribute)
        for name, attribute in _PASSES.items()
    }
    for name, attribute in _PIPELINES.items():
        passes[name] = factory("pipelines", attribute)
    return passes
