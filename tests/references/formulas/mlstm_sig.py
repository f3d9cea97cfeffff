"""Verified by the parallel form: gate matrix times Q K^T, normalised by max(|row sum|, 1).

Beck et al., 2025, arXiv 2503.14376, mLSTMsig: H = (W / eta) V with W = D o Q K^T n^-1/2, D_ij = sigmoid(i_j) times the
product of sigmoid(f) over j + 1..i, eta = max(|row sum of W|, 1) + 1e-6 as in the published kernel.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.formulas.simple_gla import decay_matrix
from tests.references.harness import Raw

SMALL = {"scaling": {"initial": (0.8, 0.8)}}  # so that row sums lie on both sides of 1


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    weight = weights(mixer, raw, parameters)
    eta = weight.sum(-1, keepdim=True).abs().clamp(min=1.0) + 1e-6
    return (weight / eta @ raw["v"].transpose(1, 2)).transpose(1, 2)


def weights(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """D o Q K^T n^-1/2, [batch, heads, i, j]."""
    forget = F.logsigmoid(raw["decay"] + parameters["decay_bias"])[..., 0]
    write = torch.sigmoid(raw["gate"][..., 0] + parameters["gate_bias"])
    scores = torch.einsum("bihn,bjhn,bjh->bhij", raw["q"], raw["k"], write)
    weight: Tensor = decay_matrix(forget) * scores * mixer.heads.state_dim**-0.5
    return weight
