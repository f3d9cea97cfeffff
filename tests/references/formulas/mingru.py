"""Verified by the recurrence of the paper.

Feng et al., 2024, arXiv 2410.01201, section 3.1: h_t = (1 - z_t) h_(t-1) + z_t c_t, z = sigmoid.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    update = torch.sigmoid(raw["gate"] + parameters["gate_bias"][:, None])
    hidden, rows = torch.zeros_like(raw["v"][:, 0]), []
    for step in range(raw["v"].shape[1]):
        hidden = torch.lerp(hidden, raw["v"][:, step], update[:, step])
        rows.append(hidden)
    return torch.stack(rows, dim=1)
