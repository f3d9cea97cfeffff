"""Verified by the recurrence of fast weights: decay, read what the key holds, write the difference.

Yang, Kautz, Hatamizadeh, 2024, arXiv 2412.06464, equation 10: S_t = a_t (I - beta_t k_t k_t^T) S_(t-1) + beta_t k_t
v_t^T, a = exp(-A softplus(x)); q and k as in DeltaNet.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.deltanet import unit
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k = unit(raw["q"]) * mixer.heads.state_dim**-0.5, unit(raw["k"])
    beta = torch.sigmoid(raw["gain"])
    return recurrence(q, k, beta * k, beta * F.silu(raw["v"]), decay(raw, parameters))


def decay(raw: Raw, parameters: Raw) -> Tensor:
    """exp(-A softplus(x + bias)), [batch, seq_len, heads, 1 or n]."""
    return torch.exp(-torch.exp(parameters["decay_rate"]) * F.softplus(raw["decay"] + parameters["decay_bias"]))


def recurrence(q: Tensor, k: Tensor, erase: Tensor, written: Tensor, kept: Tensor) -> Tensor:
    """y_t = S_t^T q_t with S <- diag(kept_t) S, then S <- S + k_t (written_t - S^T erase_t)^T."""
    state, rows = torch.zeros_like(k[:, 0, :, :, None] * written[:, 0, :, None, :]), []
    for step in range(q.shape[1]):
        state = kept[:, step, :, :, None] * state
        found = torch.einsum("bhn,bhnp->bhp", erase[:, step], state)
        state = state + k[:, step, :, :, None] * (written[:, step] - found)[:, :, None, :]
        rows.append(torch.einsum("bhn,bhnp->bhp", q[:, step], state))
    return torch.stack(rows, dim=1)
