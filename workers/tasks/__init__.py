"""Synthetic tasks, one file each, found by scanning this folder for the attribute `task`."""
