"""Verified by a library call: torch scaled_dot_product_attention with a source of score s_h and value 0 in every row.

arXiv 2508.10925, architecture section (a learned bias per head in the denominator of the softmax; window 128), as
transformers gpt_oss eager_attention_forward; rotary with theta = 150000, grouped-query.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import lags, rotary

SMALL = {"support": {"window": 5}}


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """sum_j exp(z_ij) v_j / (exp(s_h) + sum_j exp(z_ij)) over the window."""
    q, k = (rotary(raw[name], theta=150000.0) for name in ("q", "k"))
    k, v = (F.pad(x, (0, 0, 0, 0, 1, 0)) for x in (k, raw["v"]))
    lag = lags(q.shape[1])
    hidden = (lag < 0) | (lag >= (mixer.support.window or q.shape[1]))
    band = torch.zeros_like(lag, dtype=q.dtype).masked_fill(hidden, -torch.inf)
    sink = parameters["sink"][:, None, None].expand(-1, q.shape[1], 1)
    bias = torch.cat([sink, band.expand(q.shape[2], -1, -1)], dim=-1)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=q.shape[-1] ** -0.5, enable_gqa=True)
    return y.transpose(1, 2)
