"""Verified by the stabilised recurrence over c, n and the running maximum m.

Beck et al., 2024, arXiv 2405.04517, equations 8 to 17 with R = 0: c_t = f_t c_(t-1) + i_t tanh(z_t), n_t = f_t n_(t-1)
+ i_t, h_t = c_t / n_t, f = sigmoid, i = exp.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    z, write = torch.tanh(raw["v"]), raw["gate"] + parameters["gate_bias"][:, None]
    forget = F.logsigmoid(raw["decay"] + parameters["decay_bias"])
    cell, normaliser = torch.zeros_like(z[:, 0]), torch.zeros_like(z[:, 0])
    highest, rows = torch.full_like(z[:, 0], -torch.inf), []
    for t in range(z.shape[1]):
        new = torch.maximum(forget[:, t] + highest, write[:, t])
        keep, enter = torch.exp(forget[:, t] + highest - new), torch.exp(write[:, t] - new)
        cell, normaliser, highest = keep * cell + enter * z[:, t], keep * normaliser + enter, new
        rows.append(cell / normaliser)
    return torch.stack(rows, dim=1)
