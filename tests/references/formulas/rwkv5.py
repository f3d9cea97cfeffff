"""Verified by the closed form with powers of the learned decay.

Peng et al., 2024, arXiv 2404.05892, Eagle: wkv_t = diag(u) k_t^T v_t + sum_(i<t) diag(w)^(t-1-i) k_i^T v_i, y = r wkv,
w = exp(-exp(omega)).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    r, k, v = raw["q"], raw["k"], raw["v"]
    w = torch.exp(-torch.exp(parameters["decay_bias"]))
    rows = []
    for t in range(v.shape[1]):
        age = torch.arange(t - 1, -1, -1, dtype=v.dtype)
        powers = w ** age[:, None, None]  # [t, heads, n]
        memory = torch.einsum("bihn,bihp->bhnp", powers * k[:, :t], v[:, :t])
        memory = memory + torch.einsum("bhn,bhp->bhnp", parameters["bonus"] * k[:, t], v[:, t])
        rows.append(torch.einsum("bhn,bhnp->bhp", r[:, t], memory))
    return torch.stack(rows, dim=1)
