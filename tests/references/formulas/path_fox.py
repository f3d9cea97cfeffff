"""Verified by the recurrence over the query: it walks back through the transitions, keys stay as they were written.

arXiv 2505.16381, section 3 (PaTH-FoX), as fla naive_path_attn: score q_i^T H_i H_(i-1) ... H_(j+1) k_j + sum of log
f, all over sqrt(n); H_t = I - beta_t w_t w_t^T, beta = 2 sigmoid, w of unit length (eps 1e-6 under the root), f =
sigmoid.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax of the scores that the reflected query meets on its way back."""
    w = raw["direction"]
    w = w / torch.sqrt((w * w).sum(-1, keepdim=True) + 1e-6)
    beta = 2.0 * torch.sigmoid(raw["gain"])
    log_forget = torch.log(torch.sigmoid(raw["shear"][..., 0] + parameters["shear_bias"]))
    rows = []
    for i in range(raw["q"].shape[1]):
        query, bias, scores = raw["q"][:, i], torch.zeros_like(log_forget[:, 0]), []
        for j in range(i, -1, -1):
            scores.append((query * raw["k"][:, j]).sum(-1) + bias)
            query = query - beta[:, j] * (query * w[:, j]).sum(-1, keepdim=True) * w[:, j]
            bias = bias + log_forget[:, j]
        weight = torch.softmax(torch.stack(scores, dim=1) * raw["q"].shape[-1] ** -0.5, dim=1)
        rows.append((weight[..., None] * raw["v"][:, : i + 1].flip(1)).sum(1))
    return torch.stack(rows, dim=1)
