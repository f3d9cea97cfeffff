"""Verified by a direct sum over the past, rotary by complex phases.

arXiv 2409.04431, definition of SigmoidAttn: sigma(q k^T / sqrt(n) + b) v with b = -log(sequence length).
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import rotary


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """sum_j v_j / (1 + T exp(-z_ij))."""
    q, k = (rotary(raw[name], theta=10000.0) for name in ("q", "k"))
    seq_len, rows = q.shape[1], []
    for i in range(seq_len):
        z = torch.einsum("bhn,bjhn->bjh", q[:, i], k[:, : i + 1]) / math.sqrt(q.shape[-1])
        rows.append((raw["v"][:, : i + 1] / (1.0 + seq_len * torch.exp(-z))[..., None]).sum(1))
    return torch.stack(rows, dim=1)
