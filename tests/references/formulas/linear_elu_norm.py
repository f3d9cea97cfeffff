"""Verified by the recurrence over state and normaliser.

arXiv 2006.16236, eq. 7 and 18 to 20: phi(x) = elu(x) + 1 for q and k, eps 1e-6 in the denominator (fast-transformers).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_average


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """phi(q_i)^T S_i / (phi(q_i)^T z_i + eps)."""
    q, k = (torch.where(x > 0, x + 1.0, torch.exp(x)) for x in (raw["q"], raw["k"]))
    return read_average(q, k, raw["v"], eps=1e-6)
