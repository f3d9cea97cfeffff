"""Verified by the recurrence over the state, divided by exp(n_i) of the query token.

arXiv 2405.15731, normalised attention: eta_i = exp(w_n . x_i), identity features, no scale.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_sums


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """exp(-n_i) sum_j (q_i . k_j) v_j."""
    return torch.exp(-raw["log_eta"]) * read_sums(raw["q"], raw["k"], raw["v"])
