"""Verified by the recurrence of fast weights with a gate per key channel and one per value channel.

Hatamizadeh, Choi, Kautz, 2026, arXiv 2605.22791: S_t = (I - k_t (b_t * k_t)^T) diag(a_t) S_(t-1) + k_t (w_t * v_t)^T,
b and w sigmoids, a = exp(-A softplus(x)); q and k as in DeltaNet.
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
    written = torch.sigmoid(raw["v_gate"]) * F.silu(raw["v"])
    return recurrence(q, k, torch.sigmoid(raw["gain"]) * k, written, decay(raw, parameters))
