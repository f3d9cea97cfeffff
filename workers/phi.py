"""phi in torch: the readout of designspace/readout.py on tensors. Source: arXiv 2510.09389, principles 1 and 2."""

from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from designspace.readout import Exponential, Identity, Polynomial, Readout, Relu, Sigmoid, Softplus

SOFTPLUS_LINEAR_FROM = 40.0  # log(1 + exp(z)) = z + 4e-18 there: exact in float64


def capped(readout: Readout, score: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """c tanh(z / c), or z without a softcap."""
    return readout.cap * torch.tanh(score / readout.cap) if readout.is_capped else score


def uncapped_phi(readout: Readout, score: Float[Tensor, "..."], offset: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """phi of a score whose softcap has acted already; `offset` belongs to the sigmoid, the others ignore it."""
    match readout:
        case Identity():
            return score
        case Polynomial():
            return _horner(readout.coefficients, score)
        case Exponential():
            return torch.exp(score)
        case Sigmoid():
            return torch.sigmoid(score + offset)
        case Relu():
            return torch.relu(score) ** readout.power
        case Softplus():
            return F.softplus(score, threshold=SOFTPLUS_LINEAR_FROM)
        case _:
            assert_never(readout)


def phi(readout: Readout, score: Float[Tensor, "..."], offset: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """phi(z), softcap included."""
    return uncapped_phi(readout, capped(readout, score), offset)


def _horner(coefficients: tuple[float, ...], score: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    result = torch.full_like(score, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * score + coefficient
    return result
