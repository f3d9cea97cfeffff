"""Settings of every test; standing here, it also puts the repository root on the import path."""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors: threads only wait for each other
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
