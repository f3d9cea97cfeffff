"""Headings of the families of rules: what each is about, with its formula. Source: arXiv 2510.09389."""

from types import MappingProxyType
from typing import NamedTuple


class Family(NamedTuple):
    """Title and formula of a family of rules."""

    title: str
    formula: str


FAMILIES: MappingProxyType[int, Family] = MappingProxyType(
    {
        1: Family("cost and the readout", "a finite state exists iff phi is linear after a finite lift"),
        2: Family("input selectivity", "f(s) = P(|phi(z)| <= 0.01 E|phi(z)|), z ~ N(0, s^2)"),
        3: Family("position", "z_ij = q_i . A_i ... A_(j+1) b_j k_j with A_t = I knows no distance"),
        4: Family("operations on keys", "spectrum of A_t = (I - erase) rotation decay"),
        5: Family("scale of the scores", "std z_ij at initialisation in [0.5, 2]"),
        6: Family(
            "growth and normalization", "G(L) = rms(z_jj) sqrt(min(L, 1 / (1 - a^2))), sigma_max(A_t) <= 1, eta_i > 0"
        ),
        7: Family("memory and depth", "half-life ln 2 / -ln a >= L / 8, pairs <= 2 n, 1 + depth (W - 1) >= L"),
        8: Family("numerics", "number formats and derivatives"),
        9: Family("shape and causality", "what the spec itself gets wrong"),
    }
)
