"""Verified by the explicit sum over the past: every input decayed by the time that has passed.

Gu, Dao, 2023, arXiv 2312.00752, algorithm 2 with B by Euler as in the published code: h_t = exp(-A dt_t) h_(t-1) +
dt_t B_t x_t, y_t = C_t . h_t + D x_t, dt = softplus, x = silu of the convolved input.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import for_heads


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    return selective_scan(raw["q"], raw["k"], raw, parameters)


def selective_scan(read: Tensor, write: Tensor, raw: Raw, parameters: Raw) -> Tensor:
    """y [batch, seq_len, channels, 1] for C and B [batch, seq_len, groups, n] that groups of channels share."""
    x = F.silu(raw["v"])
    channels = x.shape[2]
    step = F.softplus(raw["gate"][..., 0] + parameters["gate_bias"])
    clock = step.cumsum(1)
    elapsed = (clock[:, :, None] - clock[:, None, :]).clamp(min=0.0)  # [batch, i, j, channels]
    causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()[..., None, None]
    rate = torch.exp(parameters["decay_rate"])
    kept = torch.where(causal, torch.exp(-elapsed[..., None] * rate), 0.0)
    read, write = for_heads(read, channels), for_heads(write, channels)
    hidden = torch.einsum("bijcn,bjcn,bjc->bicn", kept, write, step * x[..., 0])
    return (read * hidden).sum(-1, keepdim=True) + parameters["skip"][:, None] * x
