"""Verified by the recurrence over the state.

arXiv 2307.14995, section 3.1, as fla: q and k = silu(x), S_t = exp(-r) S_(t-1) + k_t v_t^T with r = (8 h / H) (1 - l
/ L) for head h = 0..H-1, here of the first layer (l = 0), the heads listed from the last to the first; no scale.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_sums

SMALL = {"num_heads": 8}  # the decays are those of eight heads


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Linear attention with a decay that head 0 does not have."""
    q, k = (raw[name] * torch.sigmoid(raw[name]) for name in ("q", "k"))
    num_heads = q.shape[2]
    rate = torch.arange(num_heads, dtype=q.dtype) * 8.0 / num_heads
    return read_sums(q, k, raw["v"], torch.exp(-rate.flip(0)))
