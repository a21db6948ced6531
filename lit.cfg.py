"""Configuration of lit: `lit -v test`, or `lit -v test/passes/some-pass.mlir`."""

import os
import sys

here = os.path.dirname(__file__)
sys.path[:0] = [here, os.path.join(here, "test")]

import lit_format  # noqa: E402
import run_lines  # noqa: E402

config.name = "xdsl-neuron"
config.test_format = lit_format.InProcess()
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
# test_source_root stays unset: set, `lit test` would find no tests.
config.test_exec_root = os.path.join(here, "build", "test")
config.available_features |= run_lines.available_features()
