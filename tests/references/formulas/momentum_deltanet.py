"""Verified by the recurrence over fast weights and their momentum.

Huang et al., 2026, arXiv 2605.05838, and fla recurrent_momentum_delta_rule_ref with p = k: M_t = mu_t M_(t-1) + eta_t
k_t (k_t^T S_(t-1) - v_t^T), S_t = a_t S_(t-1) - beta_t M_t; a = exp(-A softplus(x)), and mu, eta, beta are sigmoids
here; q and k as in DeltaNet.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.deltanet import unit
from tests.references.formulas.gated_deltanet import decay
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k, v = unit(raw["q"]) * mixer.heads.state_dim**-0.5, unit(raw["k"]), F.silu(raw["v"])
    beta, rate, momentum = (torch.sigmoid(raw[name])[..., None] for name in ("gain", "rate", "momentum"))
    kept = decay(raw, parameters)[..., None]
    memory = torch.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :])
    velocity, rows = torch.zeros_like(memory), []
    for t in range(q.shape[1]):
        surplus = torch.einsum("bhn,bhnp->bhp", k[:, t], memory) - v[:, t]
        velocity = momentum[:, t] * velocity + rate[:, t] * k[:, t, :, :, None] * surplus[:, :, None, :]
        memory = kept[:, t] * memory - beta[:, t] * velocity
        rows.append(torch.einsum("bhn,bhnp->bhp", q[:, t], memory))
    return torch.stack(rows, dim=1)
