"""Verified by the explicit sum over the past of Mamba, with normalised B and C.

Zuo et al., 2024, arXiv 2410.05355, and transformers FalconMambaMixer: root mean square norm without weights, eps 1e-6
beside the mean of squares.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.mamba import selective_scan
from tests.references.harness import Raw
from tests.references.parts import rms


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    one = torch.ones((), dtype=raw["q"].dtype)
    return selective_scan(rms(raw["q"], one, eps=1e-6), rms(raw["k"], one, eps=1e-6), raw, parameters)
