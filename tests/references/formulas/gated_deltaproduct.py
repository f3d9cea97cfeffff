"""Verified by the recurrence of fast weights over twice as many steps, of which every second is read.

Siems et al., 2025, arXiv 2502.10297: per token the decay, then two delta steps with keys, values and beta = 2 sigmoid
of their own; a = exp(-A softplus(x)); q and k as in DeltaNet.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.deltanet import unit
from tests.references.formulas.gated_deltanet import decay, recurrence
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k = unit(raw["q"]) * mixer.heads.state_dim**-0.5, unit(raw["k"])
    beta, first = 2.0 * torch.sigmoid(raw["gain"]), decay(raw, parameters)
    kept = torch.stack([first, torch.ones_like(first)], dim=2).flatten(1, 2)
    every = recurrence(q.repeat_interleave(2, dim=1), k, beta * k, beta * F.silu(raw["v"]), kept)
    return every[:, 1::2]
