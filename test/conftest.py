"""Settings of every test."""

import os

# Two BLAS threads on a busy machine make a matmul up to fifty times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

# How long one example takes says how busy the machine is.
settings.register_profile("steady", deadline=None)
settings.register_profile("long", max_examples=10_000, deadline=None)
settings.load_profile("steady")
