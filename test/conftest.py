"""Settings of every test."""

import os

# Two BLAS threads on a busy machine make a matmul up to fifty times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("long", max_examples=10_000)
