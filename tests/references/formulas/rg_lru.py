"""Verified by the recurrence of the paper.

De et al., 2024, arXiv 2402.19427, equations 1 to 4: h_t = a_t h_(t-1) + sqrt(1 - a_t^2) (i_t x_t), a_t = a^(8 r_t)
with log a = -softplus(p); r and i are sigmoids.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    ring = torch.sigmoid(-parameters["decay_rate"])  # sigma = e^-softplus(p)
    decay = ring ** (8.0 * torch.sigmoid(raw["decay"] + parameters["decay_bias"]))
    x = torch.sqrt(1.0 - decay**2) * torch.sigmoid(raw["v_gate"]) * raw["v"]
    hidden, rows = torch.zeros_like(x[:, 0]), []
    for step in range(x.shape[1]):
        hidden = decay[:, step] * hidden + x[:, step]
        rows.append(hidden)
    return torch.stack(rows, dim=1)
