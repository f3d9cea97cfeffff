"""The definition in float64, term by term: every stored key evolves by A_t, step after step; every form must equal it.

    h_jj = b_j k_j,   h_ij = A_i h_(i-1)j,   z_ij = q_i . h_ij,   alpha_ij = phi(z_ij) / eta_i

A_t is written out as a matrix, lifts as the enlarged matrices of theory.md and catalogue.md section 1.1.
Source: arXiv 2510.09389, definition of alpha_ij.
"""

from dataclasses import fields, replace
from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from workers import rows, terms
from workers.signals import Signals


def coefficients(
    spec: MixerSpec, signals: Signals, *, target_len: int | None = None
) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """alpha_ij in float64; steps = seq_len times `erase.rank`.

    Args:
        target_len: target.seq_len for `length_kind: target`; None takes the length of the signals.
    """
    signals = in_float64(signals)
    return rows.coefficients(spec, signals, scores(spec, signals), stabilise=True, target_len=target_len)


def outputs(
    spec: MixerSpec, signals: Signals, *, target_len: int | None = None
) -> Float[Tensor, "batch seq_len num_heads head_dim"]:
    """y_i = sum_j alpha_ij v_j in float64."""
    alpha = coefficients(spec, signals, target_len=target_len)
    return torch.einsum("bhts,bshd->bthd", alpha, signals.v.double())


def in_float64(signals: Signals) -> Signals:
    """The same signals in float64."""
    found = {field.name: getattr(signals, field.name) for field in fields(signals)}
    return replace(signals, **{name: value.double() for name, value in found.items() if value is not None})


def scores(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """z_ij, the argument of the readout; entries outside the support have no meaning."""
    if spec.support.mask == "none":
        return _bidirectional(spec, signals)
    if spec.lift.kind == "shift":
        return _filtered(spec, signals)
    return _evolved(spec, signals)


def _evolved(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    query, impulse = terms.query(spec, signals), _impulse(spec, signals)
    batch, seq_len, num_heads, _ = query.shape
    base, rank, before = terms.score_base(spec, signals), spec.erase.rank, spec.support.read == "before"
    key = impulse.new_zeros(batch, num_heads, 0, impulse.shape[-1])  # every stored key h_ij, side by side
    bias = impulse.new_zeros(batch, num_heads, 0)  # what the shear has added to the score of each
    result = []
    for token in range(seq_len):
        if before:
            row = _read(query[:, token], key) + bias
        bias = F.pad(bias + _increment(spec, signals, token), (0, rank))
        for micro in range(rank):
            step = token * rank + micro
            evolved = key @ transition(spec, signals, step).mT
            key = torch.cat([evolved, impulse[:, step, :, None]], dim=2)
        if before:
            own = terms.diagonal_score(spec, signals)[:, token] * base
            row = torch.cat([row, own[..., None]], dim=2)
        else:
            row = _read(query[:, token], key) * _level_weights(spec, signals, token) + bias
        result.append(F.pad(row, (0, seq_len * rank - row.shape[2])))
    return torch.stack(result, dim=2) + _table(spec, signals)


def transition(spec: MixerSpec, signals: Signals, step: int) -> Float[Tensor, "#batch num_heads m m"]:
    """A_t at micro-step `step`; m = n, or 2n under delay1 and momentum."""
    token, micro = divmod(step, spec.erase.rank)
    moved = _rotation_and_decay(spec, signals, token)
    if micro > 0:  # decay and rotation act in the first micro-step only
        moved = _eye(signals).expand_as(moved)
    match spec.lift.kind:
        case "momentum":
            return _momentum(spec, signals, step, moved)
        case "delay1":
            evolution = _erased(spec, signals, step, moved)
            late = terms.needed(signals.tap, "tap")[:, token, :, None, None] * evolution
            upper = torch.cat([evolution.expand_as(late), late], dim=-1)
            return torch.cat([upper, torch.zeros_like(upper)], dim=-2)
        case "none" | "fenwick" | "shift":
            return _erased(spec, signals, step, moved)
        case _:
            assert_never(spec.lift.kind)


def _rotation_and_decay(spec: MixerSpec, signals: Signals, token: int) -> Float[Tensor, "#batch num_heads n n"]:
    """R(-angle_t) diag(a_t)."""
    matrix = rotation(spec, signals, token)
    if spec.decay.is_identity:
        return matrix
    decay = torch.exp(terms.needed(signals.log_decay, "log_decay")[:, token])
    return matrix * decay[..., None, :]


def rotation(spec: MixerSpec, signals: Signals, token: int) -> Float[Tensor, "#batch num_heads n n"]:
    """R(-angle_t): the pair (first, second) turns by [[cos, sin], [-sin, cos]]."""
    eye = _eye(signals)
    angle = terms.angle(spec, signals)
    if angle is None:
        return eye.expand(1, signals.q.shape[2], -1, -1)
    cosine, sine = (torch.diag_embed(part(angle[:, token])) for part in (torch.cos, torch.sin))
    first, second = _pair_rows(spec, eye)
    turned = first.mT @ cosine @ first + second.mT @ cosine @ second + first.mT @ sine @ second
    still = eye - first.mT @ first - second.mT @ second
    return turned - second.mT @ sine @ first + still


def _pair_rows(spec: MixerSpec, eye: Float[Tensor, "n n"]) -> tuple[Tensor, Tensor]:
    """Rows of the identity that pick the first and the second channel of each rotating pair."""
    pairs = spec.rotation.pairs(eye.shape[-1])
    if spec.rotation.pairing == "half":
        return eye[:pairs], eye[pairs : 2 * pairs]
    return eye[0 : 2 * pairs : 2], eye[1 : 2 * pairs : 2]


def _erased(
    spec: MixerSpec, signals: Signals, step: int, moved: Float[Tensor, "#batch num_heads n n"]
) -> Float[Tensor, "#batch num_heads n n"]:
    """(I - u w^T) R diag(a), or R diag(a) - u w^T in the additive form."""
    if spec.erase.is_identity:
        return moved
    left, right = terms.erase_vectors(spec, signals)
    erase = left[:, step, :, :, None] * right[:, step, :, None, :]
    return moved - erase if spec.erase.compose == "additive" else moved - erase @ moved


def _momentum(
    spec: MixerSpec, signals: Signals, step: int, moved: Float[Tensor, "#batch num_heads n n"]
) -> Float[Tensor, "batch num_heads m m"]:
    """[[aI - beta eta k p^T, -beta mu I], [eta k p^T, mu I]] on [S; M]."""
    gain = terms.gate(spec, signals)[:, step, :, None, None]
    rate = terms.needed(signals.rate, "rate")[:, step, :, None, None]
    momentum = terms.needed(signals.momentum, "momentum")[:, step, :, None, None]
    second = signals.k if signals.second is None else signals.second.expand_as(signals.k)
    gradient = rate * signals.k[:, step, :, :, None] * second[:, step, :, None, :]
    kept = (momentum * _eye(signals)).expand_as(gradient)
    upper = torch.cat([moved - gain * gradient, -gain * kept], dim=-1)
    return torch.cat([upper, torch.cat([gradient, kept], dim=-1)], dim=-2)


def _impulse(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch steps num_heads m"]:
    """h_jj: b_j k_j; base [gate k; k] under delay1; base [beta eta k; -eta k] under momentum."""
    key = signals.k * terms.score_base(spec, signals)[:, None]
    gate = terms.gate(spec, signals)[..., None]
    match spec.lift.kind:
        case "momentum":
            rate = terms.needed(signals.rate, "rate")[..., None]
            return torch.cat([gate * rate * key, -rate * key], dim=-1)
        case "delay1":
            return torch.cat([gate * key, key], dim=-1)
        case "none" | "fenwick" | "shift":
            return gate * key
        case _:
            assert_never(spec.lift.kind)


def _read(
    query: Float[Tensor, "batch num_heads n"], key: Float[Tensor, "batch num_heads sources m"]
) -> Float[Tensor, "batch num_heads sources"]:
    """q . h over the first n channels: a lift is not read."""
    return (key[..., : query.shape[-1]] @ query[..., None]).squeeze(-1)


def _increment(spec: MixerSpec, signals: Signals, token: int) -> Float[Tensor, "#batch num_heads 1"]:
    """c_t, what the shear adds to the score of every stored key."""
    if spec.shear.is_identity or spec.shear.source == "table":
        return signals.q.new_zeros(1, signals.q.shape[2], 1)
    increment = terms.needed(signals.shear, "shear")[:, token]
    return (increment * terms.score_base(spec, signals) if spec.shear.scaled else increment)[..., None]


def _table(spec: MixerSpec, signals: Signals) -> Float[Tensor, "..."]:
    """table[lag] for every pair, 0 beyond its width; a mixer that reads before the step sees one lag less."""
    if spec.shear.source != "table":
        return signals.q.new_zeros(())
    table = terms.needed(signals.table, "table")
    if spec.shear.scaled:
        table = table * terms.score_base(spec, signals)[:, None]
    before = spec.support.read == "before"
    rows_of_bias = [
        torch.stack([_entry(table, i - j - before) for j in range(signals.q.shape[1])], dim=-1)
        for i in range(signals.q.shape[1])
    ]
    return torch.stack(rows_of_bias, dim=-2).repeat_interleave(spec.erase.rank, dim=-1)


def _entry(table: Float[Tensor, "... lags"], lag: int) -> Float[Tensor, "..."]:
    return table[..., lag] if 0 <= lag < table.shape[-1] else torch.zeros_like(table[..., 0])


def _level_weights(spec: MixerSpec, signals: Signals, token: int) -> Float[Tensor, "..."]:
    """Weight of each source of query `token` by the block of [0, token) it lies in; level 0 is the token itself."""
    if spec.lift.kind != "fenwick":
        return signals.q.new_ones(())
    level = [0] * (token + 1)
    end = token
    for bit in range(token.bit_length()):
        if token >> bit & 1:
            level[end - (1 << bit) : end] = [bit + 1] * (1 << bit)
            end -= 1 << bit
    return terms.needed(signals.levels, "levels")[:, token, :, level]


def _filtered(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """z_ij = sum_n q_in taps[n, i - j] b_j k_jn: the key moves along a shift of as many cells as there are taps."""
    query, key, taps = terms.query(spec, signals), _impulse(spec, signals), terms.needed(signals.taps, "taps")
    result = query.new_zeros(query.shape[0], query.shape[2], query.shape[1], query.shape[1])
    for lag in range(min(taps.shape[-1], query.shape[1])):
        later = (query[:, lag:] * taps[..., lag] * key[:, : query.shape[1] - lag]).sum(-1)
        result = result.diagonal_scatter(later.transpose(1, 2), -lag, 2, 3)
    return result


def _bidirectional(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """z_ij for all i and j: A is a rotation, so a key runs backwards by its transpose."""
    query, impulse, rank = terms.query(spec, signals), _impulse(spec, signals), spec.erase.rank
    batch, seq_len, num_heads, width = query.shape
    key = impulse.new_zeros(batch, num_heads, 0, width)
    for token in reversed(range(seq_len)):  # h_(-1)j = A_0^T ... A_j^T h_jj
        own = impulse[:, token * rank : (token + 1) * rank].transpose(1, 2)
        key = torch.cat([own, key], dim=2) @ rotation(spec, signals, token)
    result = []
    for token in range(seq_len):
        key = key @ rotation(spec, signals, token).mT
        result.append(_read(query[:, token], key))
    return torch.stack(result, dim=2)


def _eye(signals: Signals) -> Float[Tensor, "n n"]:
    return torch.eye(signals.q.shape[-1], dtype=signals.q.dtype, device=signals.q.device)
