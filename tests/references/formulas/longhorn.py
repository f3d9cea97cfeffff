"""Verified by the recurrence of the paper: one implicit gradient step of online regression per channel.

Liu et al., 2024, arXiv 2407.14207: s_t = (1 - d_t k_t^2) s_(t-1) + d_t k_t x_t, d = b / (1 + b |k|^2), b = sigmoid; y
= q . s + D x, x = silu of the convolved input.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import for_heads


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    x = F.silu(raw["v"])
    q, k = for_heads(raw["q"], x.shape[2]), for_heads(raw["k"], x.shape[2])
    strength = torch.sigmoid(raw["gate"] + parameters["gate_bias"][:, None])
    step = strength / (1.0 + strength * (k * k).sum(-1, keepdim=True))
    state, rows = torch.zeros_like(k[:, 0]), []
    for t in range(x.shape[1]):
        state = state - step[:, t] * k[:, t] ** 2 * state + step[:, t] * k[:, t] * x[:, t]
        rows.append((q[:, t] * state).sum(-1, keepdim=True) + parameters["skip"][:, None] * x[:, t])
    return torch.stack(rows, dim=1)
