"""Verified by the recurrence over the state.

arXiv 2501.08313, section 2.2, as transformers MiniMaxLightningAttention of the first layer: q, k and v = silu(x), decay
exp(-s_h), s_h = 2^(-8 h / H) (1 + 1e-5), h = 1..H; no scale, no rotation.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_sums

SMALL = {"num_heads": 64, "state_dim": 2, "head_dim": 1}  # the decays are those of 64 heads


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """S_t = exp(-s) S_(t-1) + k_t v_t^T."""
    q, k, v = (raw[name] / (1.0 + torch.exp(-raw[name])) for name in ("q", "k", "v"))
    num_heads = q.shape[2]
    slope = torch.tensor([2.0 ** (-8.0 * (head + 1) / num_heads) for head in range(num_heads)], dtype=q.dtype)
    return read_sums(q, k, v, torch.exp(-slope * (1.0 + 1e-5)))
