"""Verified by the recurrence over state and normaliser of the squared features, after torch layer_norm.

arXiv 2402.10644, kernel of ReBased: phi(x) = (gamma norm(x) + beta)^2 with beta = 0 (the entry leaves it out), scores
q . k / sqrt(n), eps 1e-5 inside the norm and 1e-6 in the denominator (fla RebasedFeatureMap, naive_parallel_rebased).
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_average


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Quadratic features of the normed q and k."""
    q, k = (_square(raw[name], parameters[f"{name}_gain"]) for name in ("q", "k"))
    return read_average(q, k, raw["v"], eps=1e-6)


def _square(x: Tensor, gain: Tensor) -> Tensor:
    x = F.layer_norm(x, x.shape[-1:], eps=1e-5) * gain
    return torch.einsum("...m,...n->...mn", x, x).flatten(-2) / math.sqrt(x.shape[-1])
