"""Verified by a convolution through FFT between two products with the token.

Fu et al., 2022, arXiv 2212.14052: y = q * SSM_diag(k * v), k after the shift SSM, and SSM_diag as in S4D with a skip D:
sum over the channels of q_static bonus k_static.
"""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.formulas.s4d import convolved, kernel
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    u = (raw["k"] * raw["v"])[..., 0].transpose(1, 2)
    skip = (parameters["q_static"] * parameters["bonus"] * parameters["k_static"]).sum(-1)
    y = convolved(kernel(parameters, u.shape[-1]), u) + skip[:, None] * u
    return raw["q"] * y.transpose(1, 2)[..., None]
