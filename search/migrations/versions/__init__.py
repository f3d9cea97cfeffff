"""Versions of the tables, applied by `search.store.migrate`."""
