"""Verified by a long convolution through FFT between two gates.

Poli et al., 2023, arXiv 2302.10866, definition 3.1 at order 2: y = q * (h conv (k * v)).
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.s4d import convolved
from tests.references.harness import Raw


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    gated = (raw["k"] * raw["v"])[..., 0].transpose(1, 2)
    response = parameters["taps"][:, 0, : gated.shape[-1]]
    return raw["q"] * convolved(response, gated).transpose(1, 2)[..., None]
