"""Verified by the recurrence of fast weights.

Grazzi et al., 2024, arXiv 2411.12537: H_t = (I - beta k k^T) H_(t-1) + beta k v^T with beta = 2 sigmoid; q and k as in
DeltaNet.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.deltanet import unit
from tests.references.formulas.gated_deltanet import recurrence
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k = unit(raw["q"]) * mixer.heads.state_dim**-0.5, unit(raw["k"])
    beta = 2.0 * torch.sigmoid(raw["gain"])
    return recurrence(q, k, beta * k, beta * F.silu(raw["v"]), torch.ones_like(beta))
