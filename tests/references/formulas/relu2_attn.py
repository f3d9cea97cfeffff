"""Verified by a direct sum over the past.

arXiv 2202.10447, gated attention unit: relu^2(q k^T) v, with the score scaled by n^-1/2 and the sum divided by the
number of visible keys. FLASH itself divides inside the square and adds a relative bias: the entry says so.
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Mean over j <= i of max(z_ij, 0)^2 v_j, as z |z| / 2 + z^2 / 2."""
    q, k, v = raw["q"], raw["k"], raw["v"]
    rows = []
    for i in range(q.shape[1]):
        z = torch.einsum("bhn,bjhn->bjh", q[:, i], k[:, : i + 1]) / math.sqrt(q.shape[-1])
        rows.append((0.5 * (z * z.abs() + z * z)[..., None] * v[:, : i + 1]).mean(1))
    return torch.stack(rows, dim=1)
