"""Verified by a library call: torch scaled_dot_product_attention with scale 1.

arXiv 1910.10683, section 2.1 and its code: scores are not divided by sqrt(n); GPT-Neo likewise.
"""

from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax(q k^T) v."""
    q, k, v = (raw[name].transpose(1, 2) for name in ("q", "k", "v"))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0).transpose(1, 2)
