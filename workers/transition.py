"""Products of rotation and decay between two steps, for all pairs of steps at once. No erase, no lift.

Every factor is a sum of logs over its own segment: differences of long cumulative sums lose the digits that matter and
exp of the masked half overflows (the minimal SSD code, arXiv 2405.21060, listing 1).
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from workers import terms
from workers.signals import Signals

Pairing = Callable[[Tensor, Tensor], Tensor]


def pairing(spec: MixerSpec, signals: Signals) -> Pairing:
    """The function (x, y) -> X with X_ij = x_i . (G_i ... G_(j+1)) y_j for j <= i, 0 above; G = R(-angle) diag(a).

    x and y are "batch num_heads steps n" over micro-steps; G acts in the first micro-step of a token only.
    """
    turn = _turning(spec, signals)
    if spec.decay.is_identity:
        return lambda left, right: (turn(left) @ turn(right).mT).tril()
    log_decay = first_micro_step(terms.needed(signals.log_decay, "log_decay"), spec.erase.rank).transpose(1, 2)
    if log_decay.shape[-1] > 1:
        return lambda left, right: _diagonal_lower(turn(left), turn(right), log_decay)
    decay = torch.exp(segment_sums(log_decay.squeeze(-1)))
    return lambda left, right: turn(left) @ turn(right).mT * decay


def rotate(
    spec: MixerSpec,
    x: Float[Tensor, "... n"],
    cosine: Float[Tensor, "... pairs"],
    sine: Float[Tensor, "... pairs"],
) -> Float[Tensor, "... n"]:
    """R(angle) x: each pair turns by [[cos, -sin], [sin, cos]]; channels beyond the pairs stay."""
    pairs = spec.rotation.pairs(x.shape[-1])
    still = x[..., 2 * pairs :]
    if spec.rotation.pairing == "half":
        first, second = x[..., :pairs], x[..., pairs : 2 * pairs]
        return torch.cat([first * cosine - second * sine, first * sine + second * cosine, still], dim=-1)
    first, second = x[..., 0 : 2 * pairs : 2], x[..., 1 : 2 * pairs : 2]
    turned = torch.stack([first * cosine - second * sine, first * sine + second * cosine], dim=-1).flatten(-2)
    return torch.cat([turned, still], dim=-1)


def phases(angle: Float[Tensor, "batch seq_len num_heads pairs"]) -> Float[Tensor, "batch seq_len num_heads pairs"]:
    """Angle accumulated up to each step, in [0, 2 pi): summed in float64, since float32 drifts with the length."""
    return torch.remainder(angle.double().cumsum(1), 2.0 * math.pi).to(angle.dtype)


def first_micro_step(
    signal: Float[Tensor, "batch seq_len num_heads w"], rank: int
) -> Float[Tensor, "batch steps num_heads w"]:
    """The signal at the first micro-step of each token, 0 at the others."""
    if rank == 1:
        return signal
    return F.pad(signal.unsqueeze(2), (0, 0, 0, 0, 0, rank - 1)).flatten(1, 2)


def segment_sums(x: Float[Tensor, "... steps"]) -> Float[Tensor, "... steps steps"]:
    """s_ij = x_(j+1) + ... + x_i for j <= i, -inf above."""
    steps = x.shape[-1]
    lower = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril(-1)
    summed = torch.where(lower, x[..., :, None], 0.0).cumsum(-2)
    return torch.where(lower | lower.new_ones(steps).diag(), summed, -torch.inf)


def segment_products(x: Float[Tensor, "... steps"]) -> Float[Tensor, "... steps steps"]:
    """p_ij = x_(j+1) ... x_i for j <= i, 0 above; x may be 0 or negative."""
    steps = x.shape[-1]
    lower = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril(-1)
    return torch.where(lower, x[..., :, None], 1.0).cumprod(-2).tril()


def _turning(spec: MixerSpec, signals: Signals) -> Callable[[Tensor], Tensor]:
    """x_t -> R(phase_t) x_t, so that q_i . R(phase_j - phase_i) k_j is one product of turned vectors."""
    angle = terms.angle(spec, signals)
    if angle is None:
        return lambda x: x
    phase = phases(angle).repeat_interleave(spec.erase.rank, dim=1).transpose(1, 2)
    cosine, sine = torch.cos(phase), torch.sin(phase)
    return lambda x: rotate(spec, x, cosine, sine)


def _diagonal_lower(
    left: Float[Tensor, "... steps n"], right: Float[Tensor, "... steps n"], log_decay: Float[Tensor, "... steps n"]
) -> Float[Tensor, "... steps steps"]:
    """sum_n left_in a_i ... a_(j+1) right_jn for j <= i, by halves of a power of two."""
    steps = left.shape[-2]
    padding = (0, 0, 0, (1 << (steps - 1).bit_length()) - steps)
    left, right, log_decay = (F.pad(x, padding) for x in (left, right, log_decay))
    return _halves(left, right, log_decay)[..., :steps, :steps]


def _halves(
    left: Float[Tensor, "... steps n"], right: Float[Tensor, "... steps n"], log_decay: Float[Tensor, "... steps n"]
) -> Float[Tensor, "... steps steps"]:
    """Two diagonal blocks of half the size, and the corner between them: a product through the boundary.

    Both factors of the corner are bounded by 1 where a <= 1, and need n numbers per step instead of n per pair.
    """
    steps = left.shape[-2]
    if steps == 1:
        return (left * right).sum(-1, keepdim=True)
    left, right, log_decay = (x.reshape(*x.shape[:-2], 2, steps // 2, -1) for x in (left, right, log_decay))
    blocks = _halves(left, right, log_decay)
    after = log_decay[..., 1, :, :].cumsum(-2)  # boundary..i
    behind = F.pad(log_decay[..., 0, 1:, :], (0, 0, 0, 1)).flip(-2).cumsum(-2).flip(-2)  # j+1..boundary
    corner = (left[..., 1, :, :] * after.exp()) @ (right[..., 0, :, :] * behind.exp()).mT
    upper = torch.cat([blocks[..., 0, :, :], torch.zeros_like(corner)], dim=-1)
    return torch.cat([upper, torch.cat([corner, blocks[..., 1, :, :]], dim=-1)], dim=-2)
