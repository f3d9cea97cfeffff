"""Verified by the quadratic form: the matrix of Mamba-2 times a weight per level of the Fenwick tree.

Guo et al., 2025, arXiv 2506.04761: o_t = sum over levels l of lambda_t^(l) q_t^T S_t^(l); level 0 is the token itself,
and source s lies in level 1 + (position of the highest bit in which s and t differ).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas import mamba2
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    x = F.silu(raw["v"])
    seq_len = x.shape[1]
    level = torch.tensor([[(i ^ j).bit_length() for j in range(seq_len)] for i in range(seq_len)])
    # softplus(level + ln(e - 1)): every level starts with weight 1
    weight = F.softplus(raw["levels"] + torch.tensor(torch.e - 1.0, dtype=x.dtype).log()).transpose(1, 2)
    weight = weight.gather(-1, level.expand(*weight.shape[:3], seq_len))
    mixed = torch.einsum("bhij,bjhp->bihp", weight * mamba2.coefficients(raw, parameters), x)
    return mixed + parameters["skip"][:, None] * x
