"""
A linear recurrence along rows, in the destination-passing generation of NKI.

state[t] = decay[t] * state[t - 1] + inputs[t] is one instruction per tile of 128 rows;
a row longer than a tile is walked in pieces, each beginning where the last one ended.

    python examples/scan.py
"""

import numpy as np

from xdsl_neuron.nki import install

install()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

COLUMNS = 512


@nki.jit
def scan(decay, inputs):
    """The states of each row, from a state of 0."""
    height, width = inputs.shape
    states = nl.ndarray((height, width), inputs.dtype, buffer=nl.shared_hbm)
    pmax = nl.tile_size.pmax
    for first in range(0, height, pmax):
        rows = min(pmax, height - first)
        carry = nl.ndarray((rows, 1), nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=carry, value=0.0)
        for left in range(0, width, COLUMNS):
            columns = min(COLUMNS, width - left)
            part = slice(first, first + rows), slice(left, left + columns)
            factor = nl.ndarray((rows, columns), decay.dtype, buffer=nl.sbuf)
            added = nl.ndarray((rows, columns), inputs.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=factor, src=decay[part])
            nisa.dma_copy(dst=added, src=inputs[part])
            tile = nl.ndarray((rows, columns), nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=tile,
                data0=factor,
                data1=added,
                initial=carry,
                op0=nl.multiply,
                op1=nl.add,
            )
            nisa.tensor_copy(dst=carry, src=tile[:, columns - 1 : columns])
            nisa.dma_copy(dst=states[part], src=tile)
    return states


def reference(decay, inputs):
    """The recurrence, rounded to fp32 after each product and each sum."""
    states = np.empty_like(inputs)
    state = np.zeros(len(inputs), np.float32)
    for t in range(inputs.shape[1]):
        state = decay[:, t] * state + inputs[:, t]
        states[:, t] = state
    return states


def main():
    """Compares with NumPy, bit for bit."""
    rng = np.random.default_rng(0)
    agree = True
    for shape in ((256, 2048), (200, 700), (1, 1)):
        decay = rng.random(shape, dtype=np.float32)
        inputs = rng.standard_normal(shape, dtype=np.float32)
        same = np.array_equal(scan(decay, inputs), reference(decay, inputs))
        agree &= same
        print(f"{shape!s:12s} {'equal' if same else 'DIFFERENT'}")
    print("scan agrees exactly" if agree else "scan DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
