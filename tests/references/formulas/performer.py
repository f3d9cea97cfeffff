"""Verified by the recurrence over state and normaliser.

arXiv 2009.14794, lemma 1: phi(x) = exp(w . x - |x|^2 / 2) / sqrt(m), x = n^-1/4 q or k. w is drawn iid normal
(not orthogonal) from the seed of the model; eps 1e-6 in the denominator.
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_average

SMALL = {"features": {"width": 16}}
MODEL_SEED = 0  # of the fixed directions


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """The estimate of softmax attention by m positive random features."""
    width, state_dim = mixer.features.width or 0, raw["q"].shape[-1]
    generator = torch.Generator().manual_seed(MODEL_SEED)
    directions = torch.randn(state_dim, width, generator=generator, dtype=torch.float64)

    def phi(x: Tensor) -> Tensor:
        x = x / state_dim**0.25
        exponent = torch.einsum("bthn,nm->bthm", x, directions) - (x * x).sum(-1, keepdim=True) / 2.0
        return torch.exp(exponent) / math.sqrt(width)

    return read_average(phi(raw["q"]), phi(raw["k"]), raw["v"], eps=1e-6)
