"""Verified by a closed form: products of the forget gates times exponentials, no logarithm.

arXiv 2503.02130, section 3: o_i = sum_j F_ij exp(q_i . k_j / sqrt(n)) v_j / the same without v, with
F_ij = f_(j+1) ... f_i and f_t = sigmoid of the token.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Row by row, the gates of the past multiplied up."""
    return forgetting(raw["q"], raw["k"], raw["v"], torch.sigmoid(raw["shear"][..., 0] + parameters["shear_bias"]))


def forgetting(q: Tensor, k: Tensor, v: Tensor, forget: Tensor) -> Tensor:
    """Forgetting attention with gates [batch, seq_len, num_heads]; every older weight shrinks by f_i at step i."""
    kept = torch.ones_like(forget[:, :0])
    rows = []
    for i in range(q.shape[1]):
        kept = torch.cat([kept * forget[:, i : i + 1], torch.ones_like(forget[:, :1])], dim=1)
        weight = kept * torch.exp(torch.einsum("bhn,bjhn->bjh", q[:, i], k[:, : i + 1]) * q.shape[-1] ** -0.5)
        rows.append((weight[..., None] * v[:, : i + 1]).sum(1) / weight.sum(1)[..., None])
    return torch.stack(rows, dim=1)
