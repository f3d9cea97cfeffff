"""Verified by a library call: torch scaled_dot_product_attention on q and k turned by complex phases.

arXiv 2104.09864, eq. 14 to 16, theta = 10000, pairs (m, m + n/2) as LLaMA (arXiv 2302.13971).
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention, rotary


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax((R_i q_i) . (R_j k_j) / sqrt(n)) v."""
    q, k = (rotary(raw[name], theta=10000.0) for name in ("q", "k"))
    return attention(q, k, raw["v"], scale=q.shape[-1] ** -0.5)
