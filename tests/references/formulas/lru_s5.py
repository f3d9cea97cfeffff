"""Verified by the recurrence over complex states.

Orvieto et al., 2023, arXiv 2303.06349: x_t = lambda x_(t-1) + gamma B u_t, y_t = Re(C x_t) + D u_t, lambda =
exp(-exp(nu)) e^(-i theta), gamma = sqrt(1 - |lambda|^2); k holds B, q holds conj(C). S5 (arXiv 2208.04933) has the
same recurrence.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    u = raw["v"][..., 0]
    radius = torch.exp(-torch.exp(parameters["decay_bias"][:, 0]))
    turn = torch.polar(radius, -parameters["angle"][:, 0])
    read, write = torch.complex(*parameters["q_static"].unbind(-1)), torch.complex(*parameters["k_static"].unbind(-1))
    gain = torch.sqrt(1.0 - radius**2)
    state, rows = torch.zeros_like(u[:, 0] * write), []
    for step in range(u.shape[1]):
        state = turn * state + gain * write * u[:, step]
        rows.append((read.conj() * state).real + parameters["skip"] * u[:, step])
    return torch.stack(rows, dim=1)[..., None]
