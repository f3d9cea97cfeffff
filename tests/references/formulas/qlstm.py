"""Verified by the recurrence of the paper.

Sieber et al., 2024, arXiv 2405.15731, qLSTM: x_t = sigmoid(f_t) x_(t-1) + sigmoid(i_t) u_t.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    return recurrence(torch.sigmoid(raw["decay"] + parameters["decay_bias"]), raw)


def recurrence(forget: Tensor, raw: Raw) -> Tensor:
    """x_t = forget_t x_(t-1) + sigmoid(i_t) u_t."""
    content = torch.sigmoid(raw["v_gate"]) * raw["v"]
    hidden, rows = torch.zeros_like(content[:, 0]), []
    for step in range(content.shape[1]):
        hidden = forget[:, step] * hidden + content[:, step]
        rows.append(hidden)
    return torch.stack(rows, dim=1)
