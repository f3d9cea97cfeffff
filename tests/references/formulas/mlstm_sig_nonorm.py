"""Verified by the parallel form: gate matrix times Q K^T, without a normaliser.

Beck et al., 2025, arXiv 2503.14376, mLSTMsig without its normaliser: H = (D o Q K^T n^-1/2) V, D_ij = sigmoid(i_j)
times the product of sigmoid(f) over j + 1..i.
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.mlstm_sig import weights
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    return (weights(mixer, raw, parameters) @ raw["v"].transpose(1, 2)).transpose(1, 2)
