"""Slopes of ALiBi for any number of heads (arXiv 2108.12409; transformers 5.24, build_alibi_tensor)."""

import math


def slopes(num_heads: int) -> list[float] | None:
    """2^(-8h/H); None where H is a power of two, which is what the grammar takes by itself. Other counts take the
    slopes of the next lower power of two, then every other one of the next higher.
    """
    lower = 2 ** math.floor(math.log2(num_heads))
    if lower == num_heads:
        return None
    first = [2.0 ** (-8.0 * (head + 1) / lower) for head in range(lower)]
    return first + [2.0 ** (-4.0 * (2 * head + 1) / lower) for head in range(num_heads - lower)]


def mpt_slopes(num_heads: int, exponent: float) -> list[float] | None:
    """2^(-exponent h/H) as MPT orders them: of the next higher power of two every other slope, then the rest."""
    higher = 2 ** math.ceil(math.log2(num_heads))
    if higher == num_heads and exponent == 8:
        return None
    every = [2.0 ** (-exponent * (head + 1) / higher) for head in range(higher)]
    return every if higher == num_heads else [*every[1::2], *every[::2]][:num_heads]
