"""Verified by the stabilised recurrence over C, n and the running maximum m.

Beck et al., 2024, arXiv 2405.04517, equations 19 to 27, with the soft cap 15 of the input gate and the eps 1e-6 of
xLSTM 7B (arXiv 2503.13427); eps stands beside max(|n . q|, 1), that is times e^-m here.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

SMALL = {"scaling": {"initial": (1.0, 1.0)}}  # so that row sums lie on both sides of 1


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k, v = raw["q"], raw["k"] * mixer.heads.state_dim**-0.5, raw["v"]
    write = 15.0 * torch.tanh((raw["gate"][..., 0] + parameters["gate_bias"]) / 15.0)
    forget = F.logsigmoid(raw["decay"] + parameters["decay_bias"])[..., 0]
    memory, normaliser = torch.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), torch.zeros_like(k[:, 0])
    highest, rows = torch.full_like(write[:, 0], -torch.inf), []
    for t in range(q.shape[1]):
        new = torch.maximum(forget[:, t] + highest, write[:, t])
        keep, enter = torch.exp(forget[:, t] + highest - new)[..., None], torch.exp(write[:, t] - new)[..., None]
        memory = keep[..., None] * memory + enter[..., None] * k[:, t, :, :, None] * v[:, t, :, None, :]
        normaliser = keep * normaliser + enter * k[:, t]
        unit = torch.exp(-new)
        eta = torch.maximum((normaliser * q[:, t]).sum(-1).abs(), unit) + 1e-6 * unit
        rows.append(torch.einsum("bhn,bhnp->bhp", q[:, t], memory) / eta[..., None])
        highest = new
    return torch.stack(rows, dim=1)
