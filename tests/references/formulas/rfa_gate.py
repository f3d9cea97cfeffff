"""Verified by the recurrence over state and normaliser.

arXiv 2103.02143, section 3 (RFA-Gate): phi(x) = [sin(w . x), cos(w . x)] / sqrt(m) of unit q and k, g_t = sigmoid of
the token, S_t = g_t S_(t-1) + (1 - g_t) phi(k_t) v_t^T, z_t likewise, y = phi(q)^T S / phi(q) . z. w is drawn iid
normal from the seed of the model.
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_average

MODEL_SEED = 0  # of the fixed directions


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Gated random feature attention."""
    width, state_dim = mixer.features.width or 0, raw["q"].shape[-1]
    generator = torch.Generator().manual_seed(MODEL_SEED)
    directions = torch.randn(state_dim, width, generator=generator, dtype=torch.float64)

    def phi(x: Tensor) -> Tensor:
        angle = (x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)) @ directions
        return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1) / math.sqrt(width)

    gate = torch.sigmoid(raw["decay"][..., 0] + parameters["decay_bias"][:, 0])
    written = (1.0 - gate)[..., None] * phi(raw["k"])
    return read_average(phi(raw["q"]), written, raw["v"], decay=gate)
