"""Verified by a library call: torch scaled_dot_product_attention, scale 1, with a looked-up bias.

arXiv 1910.10683, section 2.1: one learned scalar per head and relative distance, added to the logit. Distances are not
grouped into T5's 32 buckets, and beyond the table the bias is 0 (the entry says so).
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention, lags

SMALL = {"shear": {"width": 6}}  # the test sequences reach beyond the table


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """softmax(q k^T + table[i - j]) v."""
    lag = lags(raw["q"].shape[1])
    table = parameters["table"]
    inside = (lag >= 0) & (lag < table.shape[1])
    bias = table[:, lag.clamp(0, table.shape[1] - 1)] * inside
    return attention(raw["q"], raw["k"], raw["v"], scale=1.0, bias=bias)
