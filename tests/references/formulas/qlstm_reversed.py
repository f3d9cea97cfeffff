"""Verified by the recurrence of the paper.

Sieber et al., 2024, arXiv 2405.15731, qLSTM with the reversed sigmoid: x_t = sigmoid(-f_t)^alpha x_(t-1)
+ sigmoid(i_t) u_t, alpha >= 0 (written e^a here).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.qlstm import recurrence
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    kept = torch.sigmoid(-raw["decay"] - parameters["decay_bias"]) ** torch.exp(parameters["decay_rate"])
    return recurrence(kept, raw)
