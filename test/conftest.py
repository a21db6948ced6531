"""Settings of every test."""

import os

# Two BLAS threads on a busy machine make a matmul up to fifty times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
