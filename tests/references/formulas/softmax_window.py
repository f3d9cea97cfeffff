"""Verified by a library call: torch scaled_dot_product_attention over a band, grouped-query, rotary by complex phases.

arXiv 2310.06825, section 2 (position i attends to positions i - W + 1 to i) with arXiv 2104.09864, theta = 10000, and
grouped-query attention (arXiv 2305.13245).
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention, rotary

SMALL = {"support": {"window": 5}}


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax over the last W keys of (R_i q_i) . (R_j k_j) / sqrt(n)."""
    q, k = (rotary(raw[name], theta=10000.0) for name in ("q", "k"))
    return attention(q, k, raw["v"], scale=q.shape[-1] ** -0.5, window=mixer.support.window)
