"""Verified by the recurrence of the paper.

Qin, Yang, Zhong, 2023, arXiv 2311.04823: h_t = f_t h_(t-1) + (1 - f_t) silu(c_t), f = lo + (1 - lo) sigmoid, in the
first layer, where the lower bound lo is 0.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    forget = torch.sigmoid(raw["decay"] + parameters["decay_bias"])
    content = raw["v"] * torch.sigmoid(raw["v"])
    hidden, rows = torch.zeros_like(content[:, 0]), []
    for step in range(content.shape[1]):
        hidden = forget[:, step] * hidden + (1.0 - forget[:, step]) * content[:, step]
        rows.append(hidden)
    return torch.stack(rows, dim=1)
