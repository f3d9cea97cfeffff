"""Verified by the quadratic form of state space duality: decay matrix times C B^T.

Dao, Gu, 2024, arXiv 2405.21060, quadratic (dual) form: Y = (L o C B^T) (dt X) + D X, L_ij = exp(-A (dt_(j+1) + ... +
dt_i)).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.simple_gla import decay_matrix
from tests.references.harness import Raw
from tests.references.parts import for_heads


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    x = F.silu(raw["v"])
    mixed = torch.einsum("bhij,bjhp->bihp", coefficients(raw, parameters), x)
    return mixed + parameters["skip"][:, None] * x


def coefficients(raw: Raw, parameters: Raw) -> Tensor:
    """L o C B^T dt, [batch, heads, i, j]."""
    heads = raw["v"].shape[2]
    c, b = for_heads(F.silu(raw["q"]), heads), for_heads(F.silu(raw["k"]), heads)
    step = F.softplus(raw["gate"][..., 0] + parameters["gate_bias"])
    rate = torch.exp(parameters["decay_rate"][:, 0])
    return decay_matrix(-rate * step) * torch.einsum("bihn,bjhn,bjh->bhij", c, b, step)
