"""One matmul of 512x512x512 in fp32: what `bench/run.py startup` times as a command."""

import sys
from pathlib import Path

import nki
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import kernels

rng = np.random.default_rng(0)
left, right = (rng.standard_normal((512, 512), dtype=np.float32) for _ in range(2))
out = nki.simulate(kernels.matmul)(left, right, np.zeros((512, 512), np.float32))
assert np.abs(out - left.T @ right).max() < 1e-3
