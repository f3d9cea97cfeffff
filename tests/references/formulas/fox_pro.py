"""Verified by a closed form: products of the forget gates times exponentials, after torch rms_norm.

arXiv 2503.02130, section 3, with the RMS norm of q and k per head of its Pro block (a gain per head and channel, eps
1e-5 added to the mean: fla ForgettingAttention); the shift of keys and values comes before, norm and gate of the output
after.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.fox import forgetting
from tests.references.harness import Raw
from tests.references.parts import rms


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Forgetting attention of rms(q) and rms(k)."""
    q = rms(raw["q"], parameters["q_gain"], eps=1e-5)
    k = rms(raw["k"], parameters["k_gain"], eps=1e-5)
    return forgetting(q, k, raw["v"], torch.sigmoid(raw["shear"][..., 0] + parameters["shear_bias"]))
