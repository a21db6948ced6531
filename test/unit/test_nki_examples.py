"""The examples agree with their references and are small modules."""

import runpy
from pathlib import Path

import pytest

import xdsl_neuron.nki as nki
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.testing import printed, reread

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES.glob("*.py")])
def test_agrees(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert example["main"]() == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{name} agrees")


def test_the_ragged_addition_is_one_masked_tile() -> None:
    example = runpy.run_path(str(EXAMPLES / "tensor_add.py"))
    spec = tensor_spec("f32", (300, 1000))
    text = printed(nki.trace(example["tensor_add"][3])(spec, spec))
    assert printed(reread(text)) == text
    assert [line.strip() for line in text.splitlines()[2:13]] == [
        "%c = penguin.alloc : <300x1000xf32, hbm>",
        "penguin.for spmd %g0 = 0 to 3 {",
        "penguin.for parallel %j = 0 to 2 {",
        "%a_tile = penguin.alloc : <128x512xf32, sbuf>",
        "penguin.sb_atom_load @I1 %a_tile <- %a[%g0 * 128000 + %j * 512]"
        "[1000 x 128, 1 x 512] where 299 - %g0 * 128 - l0 >= 0 and "
        "999 - %j * 512 - l1 >= 0",
        "%b_tile = penguin.alloc : <128x512xf32, sbuf>",
        "penguin.sb_atom_load @I2 %b_tile <- %b[%g0 * 128000 + %j * 512]"
        "[1000 x 128, 1 x 512] where 299 - %g0 * 128 - l0 >= 0 and "
        "999 - %j * 512 - l1 >= 0",
        "%0 = penguin.alloc : <128x512xf32, sbuf>",
        "penguin.tensor_tensor @I3 add %0 <- %a_tile, %b_tile",
        "penguin.sb_atom_store @I4 %c[%g0 * 128000 + %j * 512]"
        "[1000 x 128, 1 x 512] <- %0 where 299 - %g0 * 128 - l0 >= 0 and "
        "999 - %j * 512 - l1 >= 0",
        "}",
    ]
