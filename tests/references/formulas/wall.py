"""Verified by the recurrence over the query, whose channels decay on its way back to each key.

fla WallAttention and naive_wall_attn (Tilde Research, 2026): softmax over j of n^-1/2 sum_n q_in k_jn exp(P_in - P_jn)
with P the running sum of log sigmoid of the gate of each channel.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax of the scores that the shrinking query meets."""
    gate = torch.sigmoid(raw["decay"] + parameters["decay_bias"])
    rows = []
    for i in range(raw["q"].shape[1]):
        query, scores = raw["q"][:, i], []
        for j in range(i, -1, -1):
            scores.append((query * raw["k"][:, j]).sum(-1))
            query = query * gate[:, j]
        weight = torch.softmax(torch.stack(scores, dim=1) * query.shape[-1] ** -0.5, dim=1)
        rows.append((weight[..., None] * raw["v"][:, : i + 1].flip(1)).sum(1))
    return torch.stack(rows, dim=1)
