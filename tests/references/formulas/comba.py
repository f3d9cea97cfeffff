"""Verified by the recurrence of fast weights with a shorter key for the erase.

Hu et al., 2025, arXiv 2506.02475: S_t = a_t (I - beta_t k_t p_t^T) S_(t-1) + beta_t k_t v_t^T, p = sigmoid(c) k, a =
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
    beta, share = torch.sigmoid(raw["gain"]), torch.sigmoid(parameters["second_logit"])[:, None]
    return recurrence(q, k, beta * share * k, beta * F.silu(raw["v"]), decay(raw, parameters))
