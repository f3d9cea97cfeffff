"""Verified by a direct sum over the past.

arXiv 2309.08586, section 3: L^-1 relu(q k^T / sqrt(n)) v, L being the number of keys that the query sees.
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Mean over j <= i of max(z_ij, 0) v_j."""
    q, k, v = raw["q"], raw["k"], raw["v"]
    rows = []
    for i in range(q.shape[1]):
        z = torch.einsum("bhn,bjhn->bjh", q[:, i], k[:, : i + 1]) / math.sqrt(q.shape[-1])
        rows.append((torch.maximum(z, torch.zeros(()))[..., None] * v[:, : i + 1]).mean(1))
    return torch.stack(rows, dim=1)
