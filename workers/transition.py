"""Products of rotation and decay between two steps, for all pairs of steps at once. No erase, no lift.

Every factor is the exponential of a sum of logs over its own segment, or a product of such factors; exp of the masked
half would overflow (the minimal SSD code, arXiv 2405.21060, listing 1).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from workers import terms
from workers.signals import Signals

LOG_ZERO = -1000.0  # stands for log 0: exp of it is 0 in float64, and sums stay finite

Pairing = Callable[[Tensor, Tensor], Tensor]


def pairing(spec: MixerSpec, signals: Signals, *, lower: bool = True) -> Pairing:
    """The function (x, y) -> X with X_ij = x_i . (G_i ... G_(j+1)) y_j for j <= i, 0 above; G = R(-angle) diag(a).

    x and y are "batch num_heads steps n" over micro-steps; G acts in the first micro-step of a token only.

    Args:
        lower: whether the products above the diagonal must be 0; a caller that masks them anyway needs no other pass.
    """
    turn = _turning(spec, signals)
    if spec.decay.is_identity:
        return lambda left, right: _product(turn(left), turn(right), lower=lower)
    log_decay = first_micro_step(terms.needed(signals.log_decay, "log_decay"), spec.erase.rank).transpose(1, 2)
    if log_decay.shape[-1] > 1:
        return lambda left, right: _diagonal_lower(turn(left), turn(right), log_decay)
    decay = scalar_products(log_decay.squeeze(-1))
    return lambda left, right: turn(left) @ turn(right).mT * decay


def rotate(
    spec: MixerSpec,
    x: Float[Tensor, "... n"],
    cosine: Float[Tensor, "... pairs"],
    sine: Float[Tensor, "... pairs"],
) -> Float[Tensor, "... n"]:
    """R(angle) x: each pair turns by [[cos, -sin], [sin, cos]]; channels beyond the pairs stay."""
    pairs = spec.rotation.pairs(x.shape[-1])
    sizes, of_pair = ((2, pairs), -2) if spec.rotation.pairing == "half" else ((pairs, 2), -1)
    turned, still = x[..., : 2 * pairs], x[..., 2 * pairs :]
    swapped = turned.reshape(*turned.shape[:-1], *sizes).roll(1, dims=of_pair).flatten(-2)
    along = torch.stack([cosine, cosine], dim=of_pair).flatten(-2)
    across = torch.stack([-sine, sine], dim=of_pair).flatten(-2)
    turned = torch.addcmul(turned * along, swapped, across)
    return torch.cat([turned, still], dim=-1) if still.shape[-1] else turned


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
    """s_ij = x_(j+1) + ... + x_i for j <= i, 0 above. Differences in float64: float32 loses the digits that matter."""
    total = x.double().cumsum(-1)
    lower = torch.ones(x.shape[-1], x.shape[-1], dtype=torch.bool, device=x.device).tril()
    return torch.where(lower, (total[..., :, None] - total[..., None, :]).to(x.dtype), 0.0)


def scalar_products(log_decay: Float[Tensor, "... steps"]) -> Float[Tensor, "... steps steps"]:
    """a_(j+1) ... a_i for j <= i, 0 above; products below 3 times the smallest normal number count as 0."""
    products: Tensor = _ScalarProducts.apply(log_decay)
    return products


class _ScalarProducts(torch.autograd.Function):
    """exp of the segment sums in one buffer, and the gradient by sums of rows and columns: a third of the time of
    autograd. Smaller products are 0 because exp is 15 times slower where its result is not a normal number.

    Sums are differences of a total of twice the digits (`high` + `low`), so none is lost.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, log_decay: Tensor) -> Tensor:
        total = log_decay.double().clamp(min=LOG_ZERO).cumsum(-1)
        high = total.to(log_decay.dtype)
        low = (total - high).to(log_decay.dtype)
        sums = (high[..., :, None] - high[..., None, :]).add_(low[..., :, None]).sub_(low[..., None, :])
        smallest = math.log(torch.finfo(sums.dtype).tiny) + 1.0
        seen = (sums > smallest).tril_()
        products = sums.tril_().clamp_(min=smallest).exp_().mul_(seen)
        ctx.save_for_backward(products)
        return products

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (products,), (grad,) = ctx.saved_tensors, grads
        of_sums = grad * products
        of_total = of_sums.sum(-1).double() - of_sums.sum(-2).double()
        return of_total.flip(-1).cumsum(-1).flip(-1).to(grad.dtype)  # type: ignore[no-any-return]


def segment_products(x: Float[Tensor, "... steps"]) -> Float[Tensor, "... steps steps"]:
    """p_ij = x_(j+1) ... x_i for j <= i, 0 above; x may be 0 or negative."""
    steps = x.shape[-1]
    lower = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril(-1)
    return torch.where(lower, x[..., :, None], 1.0).cumprod(-2).tril()


def _product(left: Tensor, right: Tensor, *, lower: bool) -> Tensor:
    return (left @ right.mT).tril() if lower else left @ right.mT


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
    """sum_n left_in a_i ... a_(j+1) right_jn for j <= i, in blocks that double their size.

    Of two neighbouring blocks the corner is one product: `since` holds left_i times the decay since the start of its
    block, `until` right_j times the decay until the end of its block. Nothing is divided, so a = 0 is no exception.
    """
    steps = left.shape[-2]
    padding = (0, 0, 0, (1 << (steps - 1).bit_length()) - steps)
    left, right, decay = (F.pad(x, padding).unsqueeze(-2) for x in (left, right, log_decay.exp()))
    since, until = left * decay, right
    blocks = (left * right).sum(-1, keepdim=True)
    while blocks.shape[-3] > 1:
        (first, second), (early, late) = _pairs(until), _pairs(since)
        corner = late @ first.mT
        kept_first, kept_second = _pairs(decay)
        since = torch.cat([early, late * kept_first], dim=-2)
        until = torch.cat([first * kept_second, second], dim=-2)
        decay = kept_first * kept_second
        upper, lower = _pairs(blocks)
        upper = torch.cat([upper, torch.zeros_like(corner)], dim=-1)
        blocks = torch.cat([upper, torch.cat([corner, lower], dim=-1)], dim=-2)
    return blocks[..., 0, :steps, :steps]


def _pairs(x: Float[Tensor, "... blocks rows n"]) -> tuple[Tensor, Tensor]:
    """The first and the second of every two blocks."""
    first, second = x.reshape(*x.shape[:-3], -1, 2, *x.shape[-2:]).unbind(-3)
    return first, second
