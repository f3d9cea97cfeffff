"""Verified by a library call: torch scaled_dot_product_attention with the bias -m (i - j).

arXiv 2108.12409, section 3: m = 2^(-8 h / H) for heads h = 1..H, H a power of two; added after the division by sqrt(n).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention, lags


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax(q k^T / sqrt(n) - m (i - j)) v."""
    q, num_heads = raw["q"], raw["q"].shape[2]
    ratio = 2.0 ** (-8.0 / num_heads)
    slope = torch.tensor([ratio ** (head + 1) for head in range(num_heads)], dtype=q.dtype)
    bias = -slope[:, None, None] * lags(q.shape[1])
    return attention(q, raw["k"], raw["v"], scale=q.shape[-1] ** -0.5, bias=bias)
