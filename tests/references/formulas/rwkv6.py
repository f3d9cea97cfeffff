"""Verified by the recurrence over the matrix state, read before the decay.

Peng et al., 2024, arXiv 2404.05892, Finch: y_t = r_t (s_(t-1) + diag(u) k_t^T v_t), s_t = diag(w_t) s_(t-1) + k_t^T
v_t, w_t = exp(-exp(d_t)).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    r, k, v = raw["q"], raw["k"], raw["v"]
    w = torch.exp(-torch.exp(raw["decay"] + parameters["decay_bias"]))
    state, rows = torch.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), []
    for step in range(v.shape[1]):
        written = k[:, step, :, :, None] * v[:, step, :, None, :]
        seen = state + parameters["bonus"][:, :, None] * written
        rows.append(torch.einsum("bhn,bhnp->bhp", r[:, step], seen))
        state = w[:, step, :, :, None] * state + written
    return torch.stack(rows, dim=1)
