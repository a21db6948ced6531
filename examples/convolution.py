"""
Two-dimensional convolution as matmuls, in the functional generation of NKI.

Channels lie on partitions, so one tap of the filter is a matmul of its (in, out)
weights with the image moved by the tap: an access pattern, no copy. All taps of a row
of the result add up in PSUM before anything is written out.

    python examples/convolution.py
"""

import numpy as np

from xdsl_neuron.nki import install

install()

import neuronxcc.nki as nki  # noqa: E402
import neuronxcc.nki.language as nl  # noqa: E402


@nki.jit
def convolution(image, weights):
    """
    out[o, y, x] = sum over i, r, s of image[i, y + r, x + s] * weights[i, r, s, o].

    At most 128 channels in and out, at most 512 columns in the result.
    """
    channels, height, width = image.shape
    _, tall, wide, filters = weights.shape
    rows, columns = height - tall + 1, width - wide + 1
    out = nl.ndarray((filters, rows, columns), image.dtype, buffer=nl.shared_hbm)

    pixels = nl.load(image)
    taps = nl.load(weights)
    i_c = nl.arange(channels)[:, None]
    i_x = nl.arange(columns)[None, :]
    i_o = nl.arange(filters)[None, :]
    for y in nl.affine_range(rows):
        total = nl.zeros((filters, columns), nl.float32, buffer=nl.psum)
        for r in nl.affine_range(tall):
            for s in nl.affine_range(wide):
                total += nl.matmul(
                    taps[i_c, r, s, i_o], pixels[i_c, y + r, s + i_x], transpose_x=True
                )
        i_p = nl.arange(filters)[:, None]
        nl.store(out[i_p, y, i_x], value=nl.copy(total, dtype=image.dtype))
    return out


def reference(image, weights):
    """The same in fp64."""
    _, tall, wide, _ = weights.shape
    windows = np.lib.stride_tricks.sliding_window_view(
        image.astype(np.float64), (tall, wide), axis=(1, 2)
    )
    return np.einsum("iyxrs,irso->oyx", windows, weights.astype(np.float64))


def main():
    """Compares with NumPy."""
    rng = np.random.default_rng(0)
    agree = True
    for channels, size, taps, filters in (
        (32, 28, 3, 64),
        (128, 16, 5, 128),
        (1, 7, 1, 1),
    ):
        image = rng.standard_normal((channels, size, size + 3), dtype=np.float32)
        weights = rng.standard_normal((channels, taps, taps, filters), dtype=np.float32)
        found = nki.simulate_kernel(convolution, image, weights)
        error = np.abs(found - reference(image, weights)).max()
        # fp32 sums of up to 3200 products of about 1.
        agree &= bool(error < 1e-3)
        print(f"{channels} -> {filters}, {taps} x {taps}: largest error {error:.1e}")
    print("convolution agrees" if agree else "convolution DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
