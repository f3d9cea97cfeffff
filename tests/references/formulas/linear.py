"""Verified by the recurrence over the fast weights.

arXiv 2102.11174, section 3.1 without a feature map: W_t = W_(t-1) + v_t k_t^T, y_t = W_t q_t.
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import read_sums


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """sum_j (q_i . k_j) v_j, unscaled."""
    return read_sums(raw["q"], raw["k"], raw["v"])
