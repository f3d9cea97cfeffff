"""Verified by the closed form of the paper: a weighted average with the exponents written out.

Peng et al., 2023, arXiv 2305.13048: wkv_t = (sum_(i<t) e^(-(t-1-i) w + k_i) v_i + e^(u + k_t) v_t) / (the same without
v), w = e^(time decay); the parameter `bonus` is e^u.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    v = raw["v"][..., 0]
    key = (raw["key_logit"][..., 0] + parameters["gate_bias"]).transpose(1, 2)  # [batch, channels, seq_len]
    speed = torch.exp(parameters["decay_bias"])[:, :, None]
    position = torch.arange(v.shape[1], dtype=v.dtype)
    lag = position[:, None] - position[None, :] - 1.0
    past = torch.exp(key[:, :, None, :] - lag.clamp(min=0.0) * speed).tril(-1)
    own = torch.diag_embed(parameters["bonus"] * torch.exp(key))
    weight = past + own
    average = torch.einsum("bcij,bjc->bic", weight, v) / weight.sum(-1).transpose(1, 2)
    return average[..., None]
