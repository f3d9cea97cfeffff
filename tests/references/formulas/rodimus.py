"""Verified by the recurrence over the matrix state of gated linear attention.

He et al., 2024, arXiv 2410.06577, and fla RodimusAttention: S_t = diag(exp(-g_t tau_t)) S_(t-1) + (g_t^tau_t * k_t)
v_t^T, o_t = S_t^T q_t n^-1/2, g = softplus, tau = sigmoid, k of unit length, v times a sigmoid gate.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.gla import recurrence
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    step = F.softplus(raw["decay"] + parameters["decay_bias"])
    tau = torch.sigmoid(raw["decay_power"] + parameters["decay_power_bias"])
    key = F.normalize(raw["k"], dim=-1) * step**tau
    value = torch.sigmoid(raw["v_gate"]) * raw["v"]
    return recurrence(raw["q"] * mixer.heads.state_dim**-0.5, key, value, torch.exp(-step * tau))
