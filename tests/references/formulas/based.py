"""Verified by the recurrence over state and normaliser of the lifted features [1, x, x x^T / sqrt 2].

arXiv 2402.18668, second-order Taylor features: 1 + z + z^2 / 2 with z = q . k / sqrt(n), eps 1e-6 in the denominator
(fla naive_parallel_based).
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_average


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Taylor features of q and k."""
    return read_average(_taylor(raw["q"]), _taylor(raw["k"]), raw["v"], eps=1e-6)


def _taylor(x: Tensor) -> Tensor:
    square = torch.einsum("...m,...n->...mn", x, x).flatten(-2) / math.sqrt(2.0)
    return torch.cat([torch.ones_like(x[..., :1]), x / x.shape[-1] ** 0.25, square / x.shape[-1] ** 0.5], dim=-1)
