"""The installed package: commands, the xDSL plug-in, what importing it costs."""

import subprocess
import sys
import tomllib
from importlib.metadata import (
    PackageNotFoundError,
    distribution,
    entry_points,
    version,
)
from pathlib import Path
from typing import Any

import pytest
from xdsl.universe import Universe

from xdsl_neuron import __version__
from xdsl_neuron.tools import opt, run, trace
from xdsl_neuron.universe import UNIVERSE

ROOT = Path(__file__).parents[2]

MODULE = """func.func @f() {
  %a = penguin.alloc : <128x512xf32, sbuf>
  func.return
}
"""


def command(name: str) -> Path:
    """An installed command of this environment."""
    # The console scripts exist only where the package is installed, as CI does.
    try:
        distribution("xdsl-neuron")
    except PackageNotFoundError:
        pytest.skip("xdsl-neuron is not installed in this environment")
    return Path(sys.executable).with_name(name)


@pytest.mark.parametrize("name", ["neuron-opt", "xdsl-opt"])
def test_commands_know_our_dialects_in_any_folder(name: str, tmp_path: Path) -> None:
    tool = command(name)
    (tmp_path / "f.mlir").write_text(MODULE)
    process = subprocess.run(
        [tool, "f.mlir"], cwd=tmp_path, env={}, capture_output=True, text=True
    )
    assert process.stderr == ""
    assert process.stdout.split("\n")[2] == (
        "    %a = penguin.alloc : <128x512xf32, sbuf>"
    )


def test_the_plug_in_is_found_and_clashes_with_nothing() -> None:
    command("neuron-opt")
    (plugin,) = entry_points(group="xdsl.universe", name="xdsl_neuron")
    assert plugin.load() is UNIVERSE
    everything = Universe.get_multiverse()  # raises where a name is defined twice
    assert UNIVERSE.all_dialects.keys() <= everything.all_dialects.keys()
    assert UNIVERSE.all_passes.keys() <= everything.all_passes.keys()


def test_every_factory_gives_what_its_name_says() -> None:
    for name, dialect in UNIVERSE.all_dialects.items():
        assert dialect().name == name
    for name, module_pass in UNIVERSE.all_passes.items():
        assert module_pass().name == name
    for name, target in UNIVERSE.all_targets.items():
        assert target().name == name


def test_the_plug_in_imports_nothing_of_ours() -> None:
    code = (
        "import sys, xdsl_neuron.universe; "
        "print(sorted(m for m in sys.modules if m.startswith('xdsl_neuron')))"
    )
    root = Path(__file__).parent.parent.parent
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True
    )
    assert process.stdout == (
        "['xdsl_neuron', 'xdsl_neuron.passes', 'xdsl_neuron.universe']\n"
    )


@pytest.mark.parametrize("tool", [opt, run, trace], ids=lambda each: each.__name__)
def test_each_tool_says_its_version_and_xdsl_s(
    tool: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "neuron-" + tool.__name__.rpartition(".")[2]
    with pytest.raises(SystemExit) as left:
        tool.main(["--version"])
    assert left.value.code == 0
    shown = f"{name} {__version__} built on xDSL {version('xdsl')}\n"
    assert capsys.readouterr().out == shown


def test_the_version_has_one_source() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    attribute = project["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert attribute == "xdsl_neuron.__version__"
    command("neuron-opt")
    assert version("xdsl-neuron") == __version__


def test_the_lower_bounds_are_what_ci_installs() -> None:
    found = subprocess.run(
        [sys.executable, ROOT / ".ci" / "bounds.py", "oldest"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.partition("==")[0] for line in found.stdout.split()}
    assert names == {"numpy", "ml_dtypes"}
