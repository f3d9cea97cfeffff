"""Verified by the recurrence over two states, one for cosines and one for sines.

arXiv 2202.08791, section 3.3, and the published CosformerAttention(causal): relu(q_i) . relu(k_j) cos(pi (i - j) / 2 M)
divided by its sum over j, to which the entry adds 1e-6 (there the sum is clamped at 1e-6); M = 512.
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_sums

REACH = 512


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """cos(a - b) = cos a cos b + sin a sin b."""
    q, k = raw["q"].clamp(min=0.0), raw["k"].clamp(min=0.0)
    columns = torch.cat([raw["v"], torch.ones_like(raw["v"][..., :1])], dim=-1)
    angle = (torch.arange(q.shape[1], dtype=q.dtype) + 1.0) * math.pi / (2.0 * REACH)
    cosine, sine = angle.cos()[:, None, None], angle.sin()[:, None, None]
    total = read_sums(q * cosine, k * cosine, columns) + read_sums(q * sine, k * sine, columns)
    return total[..., :-1] / (total[..., -1:] + 1e-6)
