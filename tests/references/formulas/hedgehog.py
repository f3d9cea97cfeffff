"""Verified by the recurrence over state and normaliser.

arXiv 2402.04347, the Hedgehog map as in fla HedgehogFeatureMap: phi(x) = softmax of [x, -x] over the features, here as
exp(+-x) / (2 sum cosh x); eps 1e-6 in the denominator.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_average


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Normalised linear attention of the paired features."""
    return read_average(_phi(raw["q"]), _phi(raw["k"]), raw["v"], eps=1e-6)


def _phi(x: Tensor) -> Tensor:
    total = 2.0 * torch.cosh(x).sum(-1, keepdim=True)
    return torch.cat([torch.exp(x), torch.exp(-x)], dim=-1) / total
