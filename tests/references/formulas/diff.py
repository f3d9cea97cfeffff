"""Verified by a library call: two of torch scaled_dot_product_attention on the same values, rotary by complex phases.

arXiv 2410.05258, eq. 1: (softmax(q_1 k_1^T / sqrt(n)) - lambda softmax(q_2 k_2^T / sqrt(n))) v, theta = 10000; 1 and
-lambda are the weights of the branches, the norm per head follows.
"""

from torch import Tensor

from designspace.composition import Parallel
from tests.references.harness import Raw
from tests.references.parts import attention, rotary


def formula(mixer: Parallel, raw: Raw, parameters: Raw) -> Tensor:
    """The weighted outputs of the two maps."""
    maps = [
        attention(
            rotary(raw[f"{branch}.q"], theta=10000.0),
            rotary(raw[f"{branch}.k"], theta=10000.0),
            raw["0.v"],
            scale=raw["0.q"].shape[-1] ** -0.5,
        )
        for branch in range(2)
    ]
    return parameters["weights"][0] * maps[0] + parameters["weights"][1] * maps[1]
