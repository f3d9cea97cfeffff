"""Verified by a library call: torch scaled_dot_product_attention.

arXiv 1706.03762, eq. 1, with the causal mask; no position code (arXiv 2305.19466).
"""

from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax(q k^T / sqrt(n)) v."""
    q, k, v = (raw[name].transpose(1, 2) for name in ("q", "k", "v"))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=q.shape[-1] ** -0.5).transpose(1, 2)
