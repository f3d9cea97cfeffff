"""Verified by a library call: torch scaled_dot_product_attention, the first quarter rotated.

arXiv 2204.06745, section 2.1 (rotary on 25 % of the channels) with arXiv 2104.09864, eq. 14 to 16, theta = 10000.
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention, rotary

SMALL = {"state_dim": 16}  # two pairs rotate


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax((R_i q_i) . (R_j k_j) / sqrt(n)) v, n counting all channels."""
    state_dim = raw["q"].shape[-1]
    q, k = (rotary(raw[name], theta=10000.0, channels=state_dim // 4) for name in ("q", "k"))
    return attention(q, k, raw["v"], scale=state_dim**-0.5)
