"""Verified by a library convolution of three taps between two gates.

Liquid AI, 2025, arXiv 2511.23404, gated short convolution: y = C * conv(B * x), depthwise and causal.
"""

from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    gated = (raw["k"] * raw["v"])[..., 0].transpose(1, 2)
    taps = parameters["taps"].flip(-1)  # conv1d counts lags from the end
    mixed = F.conv1d(F.pad(gated, (2, 0)), taps, groups=gated.shape[1])
    return raw["q"] * mixed.transpose(1, 2)[..., None]
