"""Verified by the recurrence over the matrix state in the orientation of the paper (values by keys).

Peng et al., 2025, arXiv 2503.14456: S_t = S_(t-1) (diag(w_t) - kk_t^T (a_t * kk_t)) + v_t^T k_t, y = S r, w =
exp(-e^(-1/2) sigmoid(d)), a = sigmoid, |kk| = 1 (eps 1e-6 beside the sum of squares); the bonus (r . (rho * k)) v is
added to the read.
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    r, k, v = raw["q"], raw["k"], raw["v"]
    w = torch.exp(-math.exp(-0.5) * torch.sigmoid(raw["decay"] + parameters["decay_bias"]))
    removal, rate = raw["direction"], torch.sigmoid(raw["gain"])
    removal = removal / torch.sqrt((removal**2).sum(-1, keepdim=True) + 1e-6)
    state, rows = torch.zeros_like(v[:, 0, :, :, None] * k[:, 0, :, None, :]), []
    for step in range(v.shape[1]):
        found = torch.einsum("bhpn,bhn->bhp", state, removal[:, step])
        state = state * w[:, step, :, None, :]
        state = state - found[..., None] * (rate * removal)[:, step, :, None, :]
        state = state + v[:, step, :, :, None] * k[:, step, :, None, :]
        bonus = (r[:, step] * parameters["bonus"] * k[:, step]).sum(-1, keepdim=True)
        rows.append(torch.einsum("bhpn,bhn->bhp", state, r[:, step]) + bonus * v[:, step])
    return torch.stack(rows, dim=1)
