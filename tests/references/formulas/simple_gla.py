"""Verified by the parallel form: one matrix of decay products times Q K^T.

Sun et al., 2024, arXiv 2405.05254, parallel form of gated retention: y = (Q K^T o D) V with D_ij the product of the
gates over j + 1..i; silu on q, k, v, sigmoid^(1/16) and n^-1/2 as in fla's SimpleGatedLinearAttention.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k, v = F.silu(raw["q"]), F.silu(raw["k"]), F.silu(raw["v"])
    log_gate = F.logsigmoid(raw["decay"] + parameters["decay_bias"])[..., 0] / 16.0
    scores = torch.einsum("bihn,bjhn->bhij", q, k) * mixer.heads.state_dim**-0.5
    return torch.einsum("bhij,bjhp->bihp", scores * decay_matrix(log_gate), v)


def decay_matrix(log_decay: Tensor) -> Tensor:
    """Product of the decays of j + 1..i, 0 above the diagonal: [batch, seq_len, heads] to [batch, heads, i, j]."""
    total = log_decay.cumsum(1).transpose(1, 2)
    return torch.exp(total[..., :, None] - total[..., None, :]).tril()
