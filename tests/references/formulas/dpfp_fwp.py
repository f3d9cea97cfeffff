"""Verified by the recurrence over the fast weights by the delta rule.

arXiv 2102.11174, section 4.2 (delta rule) and the DPFP of section 5: beta = sigmoid, v_bar = W phi(k), W <- W + beta
(v - v_bar) phi(k)^T, y = W phi(q); phi_(i nu)(k) = r(k, -k)_i r(k, -k)_(i + nu), nu = 1..3, divided by its sum (eps
1e-6).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

NU = 3


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Retrieve, correct, read."""
    q, k, v, beta = _dpfp(raw["q"]), _dpfp(raw["k"]), raw["v"], torch.sigmoid(raw["gain"])
    weights = v.new_zeros(v.shape[0], v.shape[2], v.shape[3], k.shape[3])
    rows = []
    for t in range(v.shape[1]):
        retrieved = torch.einsum("bhdn,bhn->bhd", weights, k[:, t])
        correction = beta[:, t] * (v[:, t] - retrieved)
        weights = weights + torch.einsum("bhd,bhn->bhdn", correction, k[:, t])
        rows.append(torch.einsum("bhdn,bhn->bhd", weights, q[:, t]))
    return torch.stack(rows, dim=1)


def _dpfp(x: Tensor) -> Tensor:
    both = torch.cat([x, -x], dim=-1).clamp(min=0.0)
    width = both.shape[-1]
    features = torch.stack(
        [both[..., i] * both[..., (i + nu) % width] for nu in range(1, NU + 1) for i in range(width)], dim=-1
    )
    return features / (features.sum(-1, keepdim=True) + 1e-6)
