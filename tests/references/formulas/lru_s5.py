"""Verified by the recurrence over complex states.

Orvieto et al., 2023, arXiv 2303.06349: x_t = lambda x_(t-1) + gamma B u_t, y_t = Re(C x_t) + D u_t,
lambda = exp(-exp(nu)) e^(-i theta), gamma = sqrt(1 - |lambda|^2); k holds B, q holds conj(C). S5 (arXiv 2208.04933) has
the same recurrence.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.s4 import recurrence
from tests.references.formulas.s4d import pairs
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    radius = torch.exp(-torch.exp(parameters["decay_bias"]))
    gamma = torch.sqrt(1.0 - radius**2)
    return recurrence(radius, gamma * pairs(parameters["k_static"]), raw["v"], parameters)
