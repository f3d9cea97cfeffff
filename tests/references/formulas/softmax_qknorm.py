"""Verified by a library call: torch scaled_dot_product_attention after torch rms_norm, then the rotation.

arXiv 2505.09388 (Qwen3), section 2, after arXiv 2010.04245: weighted RMS of q and k per head with eps 1e-6 added to the
mean, then the rotation with theta = 1e6 (transformers Qwen3Attention).
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention, rms, rotary


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax((R_i rms(q_i)) . (R_j rms(k_j)) / sqrt(n)) v."""
    q = rotary(rms(raw["q"], parameters["q_gain"], eps=1e-6), theta=1e6)
    k = rotary(rms(raw["k"], parameters["k_gain"], eps=1e-6), theta=1e6)
    return attention(q, k, raw["v"], scale=q.shape[-1] ** -0.5)
