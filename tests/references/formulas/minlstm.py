"""Verified by the parallel scan in log space, positive and negative candidates apart.

Feng et al., 2024, arXiv 2410.01201, section 3.2: h_t = f' h_(t-1) + i' c_t, f' = f / (f + i), i' = i / (f + i), solved
by log h_t = F_t + logcumsumexp(log(i' c) - F)_t with F the running sum of log f' (arXiv 2311.06281).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    forget = torch.sigmoid(raw["decay"] + parameters["decay_bias"])
    write = torch.sigmoid(raw["decay_input"] + parameters["decay_input_bias"])
    total = forget + write
    return _scanned(forget / total, write / total * raw["v"].clamp(min=0.0)) - _scanned(
        forget / total, write / total * (-raw["v"]).clamp(min=0.0)
    )


def _scanned(decay: Tensor, content: Tensor) -> Tensor:
    """h_t = decay_t h_(t-1) + content_t for content >= 0."""
    clock = decay.log().cumsum(1)
    return torch.exp(clock + torch.logcumsumexp(content.log() - clock, dim=1))
