"""Verified by the recurrence over the matrix state.

Yang et al., 2023, arXiv 2312.06635, recurrent form of GLA: S_t = diag(alpha_t) S_(t-1) + k_t v_t^T, o_t = S_t^T q_t
n^-1/2, alpha = sigmoid(x)^(1/16).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    gate = torch.sigmoid(raw["decay"] + parameters["decay_bias"]) ** (1.0 / 16.0)
    return recurrence(raw["q"] * mixer.heads.state_dim**-0.5, raw["k"], raw["v"], gate)


def recurrence(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
    """y_t = S_t^T q_t with S_t = diag(gate_t) S_(t-1) + k_t v_t^T; all [batch, seq_len, heads, width]."""
    state, rows = torch.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), []
    for step in range(q.shape[1]):
        state = gate[:, step, :, :, None] * state + k[:, step, :, :, None] * v[:, step, :, None, :]
        rows.append(torch.einsum("bhn,bhnp->bhp", q[:, step], state))
    return torch.stack(rows, dim=1)
