"""Verified by the recurrence of the state space in the eigenbasis.

Gu, Goel, Re, 2021, arXiv 2111.00396: x_t = lambda x_(t-1) + B u_t, y_t = 2 Re(C x_t) + D u_t, with
lambda = exp(-exp(x)) e^(-i angle). Channels (m, m + n/2) of q hold 2 conj(C_m), those of k the discretised B_m.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.s4d import pairs
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    radius = torch.exp(-torch.exp(parameters["decay_bias"]))
    return recurrence(radius, pairs(parameters["k_static"]), raw["v"], parameters)


def recurrence(radius: Tensor, write: Tensor, v: Tensor, parameters: Raw) -> Tensor:
    """Outputs for v [batch, seq_len, channels, 1] of complex states [channels, modes] that turn by `angle`."""
    turn, read = torch.polar(radius, -parameters["angle"]), pairs(parameters["q_static"])
    state, rows = torch.zeros_like(v[:, 0] * write), []
    for step in range(v.shape[1]):
        state = turn * state + write * v[:, step]
        seen = (read.conj() * state).real.sum(-1, keepdim=True)
        rows.append(seen + parameters["skip"][:, None] * v[:, step])
    return torch.stack(rows, dim=1)
