"""Settings of every test; standing here, it also puts the repository root on the import path."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
