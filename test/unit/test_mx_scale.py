"""The block scale of quantize_mx: doubled since 2.31, the sample algorithm's before."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import loaded, nisa, nl, saved, tile

import xdsl_neuron.nki as nki
from xdsl_neuron.machine import MachineOptions, default_options, prepare
from xdsl_neuron.passes.levels import lowered
from xdsl_neuron.tools import run as tool

X = np.full((32, 8), 3.0, ml_dtypes.bfloat16)
X[:, 4:] = 0


@nki.jit(platform_target="trn3")
def kernel(x: Any) -> Any:
    x = loaded(x)
    packed = tile(32, 2, dtype=nl.float8_e4m3fn_x4)
    scale = tile(4, 2, dtype=nl.uint8)
    nisa.quantize_mx(packed, x, scale)
    return saved(scale)


# floor(log2 3) is 1, Emax 8, the bias 127; a block of zeros has the least there is.
SCALES = {"doubled": [1 - 7 + 127, 0], "sample": [1 - 8 + 127, 1]}


@pytest.mark.parametrize("level", ["penguin", "bir", "dma"])
@pytest.mark.parametrize("which", SCALES)
def test_the_switch(which: Any, level: str) -> None:
    module = nki.trace(kernel)(X)
    module = module if level == "penguin" else lowered(module, level)
    found = prepare(module, MachineOptions(mx_scale=which)).run([X])[0]
    assert found.tolist() == [SCALES[which]] * 4


def test_of_a_simulation() -> None:
    assert nki.simulate(kernel)(X)[0].tolist() == SCALES["doubled"]
    token = default_options.set(MachineOptions(mx_scale="sample"))
    try:
        assert nki.simulate(kernel)(X)[0].tolist() == SCALES["sample"]
    finally:
        default_options.reset(token)


def test_on_the_command_line(tmp_path: Path) -> None:
    file, result = tmp_path / "k.mlir", tmp_path / "out.npz"
    file.write_text(str(nki.trace(kernel)(X)))
    np.savez(tmp_path / "in.npz", x=X.view(np.uint16))
    options = ["--inputs", str(tmp_path / "in.npz"), "--outputs", str(result)]
    assert tool.main([str(file), "--mx-scale", "sample", *options]) == 0
    with np.load(result) as found:
        assert found[found.files[0]][0].tolist() == SCALES["sample"]
