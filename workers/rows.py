"""From the scores of a row to its coefficients: phi, eta_i and the diagonal terms outside both.

Source: arXiv 2510.09389, alpha_ij = phi(z_ij) / eta_i.
"""

import math
from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from designspace.mixer import MixerSpec
from designspace.readout import Exponential, Identity, Polynomial, Readout, Relu, Sigmoid, Softplus
from workers import terms
from workers.phi import capped, uncapped_phi
from workers.signals import Signals


def coefficients(
    spec: MixerSpec,
    signals: Signals,
    score: Float[Tensor, "batch num_heads seq_len steps"],
    *,
    stabilise: bool,
    target_len: int | None = None,
) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """alpha_ij of the scores z_ij.

    Args:
        stabilise: subtract the row maximum where it cancels (exponential readout over a row sum). The values are the
            same; without it they overflow beyond score 88.7 in float32, 709 in float64.
    """
    alpha, shift = weights(spec, signals, score, stabilise=stabilise, target_len=target_len)
    if _is_divided(spec):
        alpha = alpha / eta(spec, signals, alpha.sum(-1), shift=shift, target_len=target_len)[..., None]
    if spec.scaling.where == "after":
        alpha = alpha * terms.base(spec, signals)[:, None, None]
    extra = outside_diagonal(spec, signals)
    if extra is None:
        return alpha
    own = terms.own_last_step(spec, score.shape[2]).to(score.device)
    return alpha + torch.where(own, extra[..., None], 0.0)


def weights(
    spec: MixerSpec,
    signals: Signals,
    score: Float[Tensor, "batch num_heads seq_len steps"],
    *,
    stabilise: bool,
    target_len: int | None = None,
) -> tuple[Float[Tensor, "batch num_heads seq_len steps"], Float[Tensor, "..."]]:
    """(phi(z_ij) exp(-shift_i), shift_i): 0 outside the support, where no value of z reaches result or gradient."""
    score = masked(spec, score)
    shift = score.new_zeros(())
    if stabilise and shift_cancels(spec):
        shift = _row_shift(spec, signals, score)
        score = score - shift[..., None]
    weight = uncapped_phi(spec.readout, score, sigmoid_offset(spec, signals, target_len)[:, None])
    if _silent_score(spec.readout) is None:
        weight = torch.where(terms.support_mask(spec, score.shape[2]).to(score.device), weight, 0.0)
    return weight, shift


def masked(
    spec: MixerSpec, score: Float[Tensor, "batch num_heads seq_len steps"]
) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """The scores after the softcap, and outside the support the one at which phi is 0."""
    seen = terms.support_mask(spec, score.shape[2]).to(score.device)
    if spec.readout.is_capped:
        score = capped(spec.readout, torch.where(seen, score, 0.0))
    return torch.where(seen, score, _silent_score(spec.readout) or 0.0)


def _silent_score(readout: Readout) -> float | None:
    """Where phi is exactly 0 and its slope finite, softcap aside: what a masked score is set to. None: nowhere."""
    match readout:
        case Identity() | Relu():
            return 0.0
        case Exponential() | Sigmoid() | Softplus():
            return -math.inf
        case Polynomial():
            return 0.0 if readout.coefficients[0] == 0 else None
        case _:
            assert_never(readout)


def summed_columns(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch steps num_heads p"]:
    """What a form without coefficients sums over the sources: the values, and a column of ones where eta needs it."""
    if not spec.normalization.sums_the_row:
        return signals.v
    return torch.cat([signals.v, torch.ones_like(signals.v[..., :1])], dim=-1)


def outputs_of_sums(
    spec: MixerSpec,
    signals: Signals,
    total: Float[Tensor, "batch seq_len num_heads p"],
    *,
    shift: Float[Tensor, "..."] | None = None,
    target_len: int | None = None,
) -> Float[Tensor, "batch seq_len num_heads head_dim"]:
    """y_i of the sums of phi(z_ij) exp(-shift_i) times the columns of `summed_columns`."""
    shift = total.new_zeros(()) if shift is None else shift
    result = total[..., : signals.v.shape[-1]]
    if _is_divided(spec):
        divisor = eta(spec, signals, total[..., -1].transpose(1, 2), shift=shift, target_len=target_len)
        result = result / divisor.transpose(1, 2)[..., None]
    if spec.scaling.where == "after":
        result = result * terms.base(spec, signals)[:, None]
    extra = outside_diagonal(spec, signals)
    if extra is None:
        return result
    last = slice(spec.erase.rank - 1, None, spec.erase.rank)
    return result + extra.transpose(1, 2)[..., None] * signals.v[:, last]


def eta(
    spec: MixerSpec,
    signals: Signals,
    row_sum: Float[Tensor, "batch num_heads seq_len"],
    *,
    shift: Float[Tensor, "..."],
    target_len: int | None = None,
) -> Float[Tensor, "..."]:
    """eta_i exp(-shift_i), for a row sum that was computed with scores lowered by `shift`."""
    norm = spec.normalization
    floor = norm.eps * torch.exp(-shift) if norm.eps else 0.0
    match norm.kind:
        case "none":
            value = torch.ones_like(row_sum)
        case "sum":
            value = row_sum + floor
        case "sum_with_sink":
            value = row_sum + torch.exp(terms.needed(signals.sink, "sink")[:, None] - shift) + floor
        case "max_abs_sum_1":
            value = torch.maximum(row_sum.abs(), torch.exp(-shift)) + floor
        case "learned":
            value = torch.exp(terms.needed(signals.log_eta, "log_eta")).transpose(1, 2)
        case "length":
            value = terms.visible(spec, row_sum.shape[-1], target_len).to(row_sum).expand_as(row_sum)
        case _:
            assert_never(norm.kind)
    return norm.factor * value


def outside_diagonal(spec: MixerSpec, signals: Signals) -> Float[Tensor, "#batch num_heads seq_len"] | None:
    """What alpha_ii gains outside phi and eta: D, or the bonus of a mixer that reads after its decay."""
    match spec.support.diagonal:
        case "none":
            return None
        case "D":
            return terms.needed(signals.skip, "skip")[None, :, None].expand(1, -1, signals.q.shape[1])
        case "bonus":
            if spec.support.read == "before":
                return None
            return (terms.diagonal_score(spec, signals) * terms.base(spec, signals)).transpose(1, 2)
        case _:
            assert_never(spec.support.diagonal)


def sigmoid_offset(spec: MixerSpec, signals: Signals, target_len: int | None) -> Float[Tensor, " seq_len"]:
    """Offset inside the sigmoid for each query; 0 for the other readouts."""
    seq_len = signals.q.shape[1]
    match spec.readout:
        case Sigmoid(offset="-log_length"):
            return -torch.log(terms.visible(spec, seq_len, target_len).clamp(min=1).to(signals.q))
        case Sigmoid(offset=float(offset)):
            return signals.q.new_full((seq_len,), offset)
        case _:
            return signals.q.new_zeros((seq_len,))


def _is_divided(spec: MixerSpec) -> bool:
    return spec.normalization.kind != "none" or spec.normalization.factor != 1.0


def shift_cancels(spec: MixerSpec) -> bool:
    """A constant added to the scores of a row divides out: exponential readout over its own sum (equivalence 1)."""
    return isinstance(spec.readout, Exponential) and spec.normalization.sums_the_row


def _row_shift(
    spec: MixerSpec,
    signals: Signals,
    score: Float[Tensor, "batch num_heads seq_len steps"],
) -> Float[Tensor, "..."]:
    """The largest score of each row (and the sink), masked scores being -inf; 0 where the row is empty."""
    largest = score.detach().amax(-1)
    if spec.normalization.kind == "sum_with_sink":
        largest = torch.maximum(largest, terms.needed(signals.sink, "sink").detach()[:, None])
    return torch.where(largest == -torch.inf, 0.0, largest)
