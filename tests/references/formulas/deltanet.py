"""Verified by the matrix form: one triangular inverse instead of a recurrence.

Yang et al., 2024, arXiv 2406.06484, the WY form with one chunk: O = tril(Q K^T) (I + strict(diag(beta) K K^T))^-1
diag(beta) V; q and k are silu, then x / sqrt(|x|^2 + 1e-6), and q takes n^-1/2.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    q, k = unit(raw["q"]) * mixer.heads.state_dim**-0.5, unit(raw["k"])
    q, k, v = (x.transpose(1, 2) for x in (q, k, F.silu(raw["v"])))
    beta = torch.sigmoid(raw["gain"]).transpose(1, 2)
    system = torch.eye(k.shape[2], dtype=k.dtype) + (beta * (k @ k.mT)).tril(-1)
    solved: Tensor = torch.linalg.solve_triangular(system, beta * v, upper=False)
    return ((q @ k.mT).tril() @ solved).transpose(1, 2)


def unit(x: Tensor) -> Tensor:
    """silu, then the l2 norm with eps 1e-6 beside the sum of squares."""
    x = x * torch.sigmoid(x)
    return x / torch.sqrt((x**2).sum(-1, keepdim=True) + 1e-6)
