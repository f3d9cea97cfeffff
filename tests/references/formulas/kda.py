"""Verified by the recurrence of fast weights with a decay per channel.

Kimi Team, 2025, arXiv 2510.26692, equation 1: S_t = (I - beta_t k_t k_t^T) diag(a_t) S_(t-1) + beta_t k_t v_t^T, a =
exp(-A softplus(x)); q and k as in DeltaNet.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.deltanet import unit
from tests.references.formulas.gated_deltanet import decay, recurrence
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k = unit(raw["q"]) * mixer.heads.state_dim**-0.5, unit(raw["k"])
    beta = torch.sigmoid(raw["gain"])
    return recurrence(q, k, beta * k, beta * F.silu(raw["v"]), decay(raw, parameters))
