"""Verified by the recurrence over the matrix state.

Qin et al., 2024, arXiv 2404.07904: S_t = diag(f_t) S_(t-1) + (1 - f_t) i_t^T, y_t = S_t^T silu(o_t), in the first
layer, where the lower bound of f is 0; n^-1/2 as in fla's HGRN2Attention.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.gla import recurrence
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    forget = torch.sigmoid(raw["decay"] + parameters["decay_bias"])
    query = raw["q"] * torch.sigmoid(raw["q"]) * mixer.heads.state_dim**-0.5
    return recurrence(query, 1.0 - forget, raw["v"], forget)
