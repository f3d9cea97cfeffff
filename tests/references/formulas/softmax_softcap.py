"""Verified by the recurrence: the streaming softmax (running maximum, running sum) over capped scores.

arXiv 2408.00118, section 2 (logit soft-capping with 50 in attention), theta = 10000, grouped-query; the streaming sum
is that of arXiv 1805.02867, algorithm 3.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import for_heads, rotary

CAP = 50.0


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax(50 tanh(z / 50)) v with z = (R_i q_i) . (R_j k_j) / sqrt(n)."""
    q = rotary(raw["q"], theta=10000.0)
    k, v = (for_heads(x, q.shape[2]) for x in (rotary(raw["k"], theta=10000.0), raw["v"]))
    return torch.stack([_row(q[:, i], k[:, : i + 1], v[:, : i + 1]) for i in range(q.shape[1])], dim=1)


def _row(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    largest, total = torch.full_like(q[..., :1], -torch.inf), torch.zeros_like(q[..., :1])
    y = torch.zeros_like(values[:, 0])
    for key, value in zip(keys.unbind(1), values.unbind(1), strict=True):
        z = CAP * torch.tanh((q * key).sum(-1, keepdim=True) * q.shape[-1] ** -0.5 / CAP)
        new = torch.maximum(largest, z)
        old_share, new_share = total * torch.exp(largest - new), torch.exp(z - new)
        total, largest = old_share + new_share, new
        y = (y * old_share + value * new_share) / total
    return y
