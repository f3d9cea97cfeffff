"""Samplers, one file each: the attribute `sampler` says how to make it. The file name is its name in a space file."""
