"""Verified by a library call: torch scaled_dot_product_attention after torch rms_norm and a partial rotation.

arXiv 2505.06708, section 2 (the gate belongs to the output stage), as transformers Qwen3NextAttention: weighted RMS of
q and k per head with eps 1e-6 added to the mean, then the rotation of a quarter with theta = 1e7; grouped-query.
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention, rms, rotary

SMALL = {"state_dim": 16}  # two pairs rotate


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax((R_i rms(q_i)) . (R_j rms(k_j)) / sqrt(n)) v."""
    channels = raw["q"].shape[-1] // 4
    q = rotary(rms(raw["q"], parameters["q_gain"], eps=1e-6), theta=1e7, channels=channels)
    k = rotary(rms(raw["k"], parameters["k_gain"], eps=1e-6), theta=1e7, channels=channels)
    return attention(q, k, raw["v"], scale=q.shape[-1] ** -0.5)
