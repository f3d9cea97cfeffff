"""Verified by a library call: torch scaled_dot_product_attention, a third of the channels turned by complex phases.

arXiv 2405.04434, equations 9 to 19, as transformers DeepseekV3Attention: score (q_C . k_C + R q_R . R k_R) / sqrt(n), n
counting both parts, theta = 10000, pairs (2m, 2m + 1); the rotating part comes first here, last there. That keys and
values are maps of one latent vector is compared apart, in the form with absorbed matrices.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention

SMALL = {"state_dim": 12, "heads": {"latent_dim": 5, "shared_key_dim": 4}}  # two pairs rotate


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax of the sum of the two parts."""
    q, k = (interleaved_rotary(raw[name], raw[name].shape[-1] // 3) for name in ("q", "k"))
    return attention(q, k, raw["v"], scale=q.shape[-1] ** -0.5)


def interleaved_rotary(x: Tensor, channels: int) -> Tensor:
    """Channels 2m and 2m + 1 of the first `channels` turned by t 10000^(-2m/channels)."""
    pairs = torch.view_as_complex(x[..., :channels].reshape(*x.shape[:-1], -1, 2))
    theta = 10000.0 ** -(torch.arange(0, channels, 2, dtype=x.dtype) / channels)
    phase = torch.arange(x.shape[1], dtype=x.dtype)[:, None, None] * theta
    turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(phase), phase)).flatten(-2)
    return torch.cat([turned, x[..., channels:]], dim=-1)
