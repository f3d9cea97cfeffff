"""Verified by a convolution through FFT with the kernel of the complex diagonal state space.

Gu et al., 2022, arXiv 2206.11893: y = K * u + D u, K_l = 2 Re sum_m C_m B_m lambda_m^l with
lambda = exp(-exp(x)) e^(-i angle). Channels (m, m + n/2) of q hold 2 conj(C_m), those of k the discretised B_m.
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    u = raw["v"][..., 0].transpose(1, 2)
    y = convolved(kernel(parameters, u.shape[-1]), u) + parameters["skip"][:, None] * u
    return y.transpose(1, 2)[..., None]


def kernel(parameters: Raw, seq_len: int) -> Tensor:
    """Re sum_m conj(read_m) write_m lambda_m^l for the lags l; [channels, seq_len]."""
    modes = torch.polar(torch.exp(-torch.exp(parameters["decay_bias"])), -parameters["angle"])
    powers = modes[..., None] ** torch.arange(seq_len, dtype=parameters["angle"].dtype)
    weight = pairs(parameters["q_static"]).conj() * pairs(parameters["k_static"])
    response: Tensor = torch.einsum("cm,cml->cl", weight, powers).real
    return response


def convolved(response: Tensor, u: Tensor) -> Tensor:
    """The causal convolution along the last axis through FFT."""
    size = 2 * u.shape[-1]
    product = torch.fft.rfft(response, n=size) * torch.fft.rfft(u, n=size)
    result: Tensor = torch.fft.irfft(product, n=size)
    return result[..., : u.shape[-1]]


def pairs(x: Tensor) -> Tensor:
    """Channels m and m + n / 2 as real and imaginary part."""
    return torch.complex(*x.chunk(2, dim=-1))
