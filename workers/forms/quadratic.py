"""The dense form: all scores of all pairs at once, no loop over time. Every valid spec has one.

The erase family goes by one triangular solve: with G_(i:j) the products of rotation and decay alone,
    P_ij = q_i G_(i:j+1) b_j k_j,   Q_ij = q_i G_(i:j+1) u_j          (j <= i)
    M_tj = w_t G_(t:j+1) u_j,       N_tj = w_t G_(t:j+1) b_j k_j      (j < t; t-1 for t in the additive form)
    z = P - Q (I + M)^-1 N,
and z = Q (I + M)^-1 diag(b) where u is the key. Where y is linear in the scores the solve acts on the values: T^2 p
instead of T^3. Source: catalogue.md section 2.6; arXiv 2406.06484.
"""

from dataclasses import dataclass
from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from designspace.readout import Exponential, is_linear, polynomial_coefficients
from workers import rows, terms
from workers.form import Form
from workers.signals import Signals
from workers.transition import (
    Pairing,
    pairing,
    phases,
    rotate,
    scalar_products,
    segment_products,
    segment_sums,
)


def invalid_reason(spec: MixerSpec) -> str | None:  # noqa: ARG001 - the signature of a form
    """None: every valid spec has a dense form."""
    return None


def apply(
    spec: MixerSpec, signals: Signals, *, target_len: int | None = None
) -> Float[Tensor, "batch seq_len num_heads head_dim"]:
    """Outputs in the dtype of the signals."""
    if _solves_for_values(spec):
        return rows.outputs_of_sums(spec, signals, _summed_values(spec, signals), target_len=target_len)
    score, value = scores(spec, signals), signals.v.transpose(1, 2)
    if _is_softmax(spec):
        return (rows.masked(spec, score).softmax(-1) @ value).transpose(1, 2)
    weight, shift = rows.weights(spec, signals, score, stabilise=_stabilises(spec), target_len=target_len)
    total = weight @ value
    if spec.normalization.sums_the_row:
        total = torch.cat([total, weight.sum(-1, keepdim=True)], dim=-1)
    return rows.outputs_of_sums(spec, signals, total.transpose(1, 2), shift=shift, target_len=target_len)


def coefficients(
    spec: MixerSpec, signals: Signals, *, target_len: int | None = None
) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """alpha in the dtype of the signals; `execution.stabiliser: none` leaves exponentials as they are."""
    return rows.coefficients(spec, signals, scores(spec, signals), stabilise=_stabilises(spec), target_len=target_len)


def _stabilises(spec: MixerSpec) -> bool:
    return spec.execution.stabiliser != "none"


def _is_softmax(spec: MixerSpec) -> bool:
    """alpha is a masked softmax of the scores, which torch has in one kernel."""
    norm = spec.normalization
    plain_sum = norm.kind == "sum" and (norm.eps, norm.factor) == (0.0, 1.0)
    nothing_after = spec.scaling.where != "after" and spec.support.diagonal == "none"
    return isinstance(spec.readout, Exponential) and plain_sum and nothing_after and _stabilises(spec)


def scores(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """z_ij; entries outside the support have no meaning."""
    score = _linear_scores(spec, signals)
    if spec.support.mask == "none":
        return score
    if not spec.shear.is_identity:
        score = score + _bias(spec, signals)
    if spec.support.read == "before":
        own = terms.diagonal_score(spec, signals) * terms.score_base(spec, signals)
        diagonal = terms.own_last_step(spec, score.shape[2]).to(score.device)
        score = torch.where(diagonal, own.transpose(1, 2)[..., None], score)
    return score


def _linear_scores(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """q_i . h_ij without the shear."""
    if spec.support.mask == "none":
        return _bidirectional(spec, signals)
    match spec.lift.kind:
        case "shift":
            return _convolution(spec, signals)
        case "momentum":
            return _solved(spec, signals, _heavy_ball(spec, signals))
        case "fenwick":
            return _evolved(spec, signals) * _level_weights(signals)
        case "none" | "delay1":
            return _evolved(spec, signals)
        case _:
            assert_never(spec.lift.kind)


def _evolved(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    if spec.erase.is_identity:
        pair = pairing(spec, signals, lower=False)
        if spec.lift.kind == "delay1":
            return _weighed(spec, signals, _read(spec, signals, pair, signals.k.transpose(1, 2)))
        return _read(spec, signals, pair, terms.written_key(spec, signals).transpose(1, 2))
    return _solved(spec, signals, _erase(spec, signals))


@dataclass(frozen=True)
class _Loop:
    """z = plain - read (I + feedback)^-1 written, or read (I + feedback)^-1 where what is written is what is erased.

    Columns of `plain` and `written` still lack the weight of their source; only the part of
    `feedback` below the diagonal counts.
    """

    read: Float[Tensor, "batch num_heads seq_len steps"]
    feedback: Float[Tensor, "batch num_heads steps steps"]
    plain: Float[Tensor, "batch num_heads seq_len steps"] | None = None
    written: Float[Tensor, "batch num_heads steps steps"] | None = None


def _erase(spec: MixerSpec, signals: Signals) -> _Loop:
    pair, key = pairing(spec, signals), signals.k.transpose(1, 2)
    left, right = (x.transpose(1, 2) for x in terms.erase_vectors(spec, signals))
    seen = _before(pair) if spec.erase.compose == "additive" else pair
    read, feedback = _read(spec, signals, pair, left), seen(right, left)
    if terms.writes_with_key(spec, signals):
        return _Loop(read, feedback)
    return _Loop(read, feedback, plain=_read(spec, signals, pair, key), written=seen(right, key).tril(-1))


def _heavy_ball(spec: MixerSpec, signals: Signals) -> _Loop:
    """(Q K^T o C)(I + strict[diag(eta) (P K^T o C one row down)])^-1, C = L_a diag(beta) L_mu."""
    query, key = terms.scaled_query(spec, signals).transpose(1, 2), signals.k.transpose(1, 2)
    second = key if signals.second is None else signals.second.expand_as(signals.k).transpose(1, 2)
    rate = terms.needed(signals.rate, "rate").transpose(1, 2)
    gain = terms.gate(spec, signals).transpose(1, 2)
    kept = segment_products(terms.needed(signals.momentum, "momentum").transpose(1, 2))
    reach = _scalar_decay(spec, signals) @ (gain[..., None] * kept)
    feedback = rate[..., None] * (second @ key.mT) * _down(reach)
    return _Loop(query @ key.mT * reach, feedback)


def _solved(spec: MixerSpec, signals: Signals, loop: _Loop) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """The scores of a loop, with the weights of the sources."""
    fed_back: Tensor = torch.linalg.solve_triangular(
        loop.feedback, loop.read, upper=False, left=False, unitriangular=True
    )
    if loop.plain is None or loop.written is None:
        return _weighed(spec, signals, fed_back)
    return _weighed(spec, signals, loop.plain) - fed_back @ _weighed(spec, signals, loop.written)


def _solves_for_values(spec: MixerSpec) -> bool:
    """y is linear in the scores of a loop that no mask, level or diagonal touches one by one."""
    loops = spec.lift.kind == "momentum" or (spec.lift.kind == "none" and not spec.erase.is_identity)
    return loops and _is_whole(spec) and is_linear(spec.readout)


def _is_whole(spec: MixerSpec) -> bool:
    """Every query reads all tokens up to its own, after the step of that token."""
    support = spec.support
    return support.mask == "causal" and support.read == "after" and support.window is None and support.chunk is None


def _summed_values(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch seq_len num_heads p"]:
    """sum_j phi(z_ij) [v_j, 1], phi(z) = c z, by a solve for the values instead of the scores."""
    loop = _heavy_ball(spec, signals) if spec.lift.kind == "momentum" else _erase(spec, signals)
    value = rows.summed_columns(spec, signals).transpose(1, 2) * _weights(spec, signals)[..., None]
    entered = value if loop.written is None else loop.written @ value
    fed_back: Tensor = torch.linalg.solve_triangular(loop.feedback, entered, upper=False, unitriangular=True)
    total = loop.read @ fed_back if loop.plain is None else loop.plain @ value - loop.read @ fed_back
    slope = (polynomial_coefficients(spec.readout) or (0.0, 1.0))[1]
    return (total if slope == 1.0 else slope * total).transpose(1, 2)


def _read(
    spec: MixerSpec, signals: Signals, pair: Pairing, right: Float[Tensor, "batch num_heads steps n"]
) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """q_i G ... right_j: after the last micro-step of the token, or before the token's step."""
    rank = spec.erase.rank
    query = terms.scaled_query(spec, signals).transpose(1, 2)
    if spec.support.read == "before":
        return _before(pair)(query, right)
    if rank == 1:
        return pair(query, right)
    return pair(query.repeat_interleave(rank, dim=2), right)[:, :, rank - 1 :: rank]


def _before(pair: Pairing) -> Pairing:
    """The same products, stopped one step earlier: row i sees G_(i-1:j+1), and nothing in row 0."""

    def shifted(left: Tensor, right: Tensor) -> Tensor:
        return _down(pair(F.pad(left[:, :, 1:], (0, 0, 0, 1)), right))

    return shifted


def _down(x: Float[Tensor, "... steps columns"]) -> Float[Tensor, "... steps columns"]:
    """Row i - 1 in place of row i, zeros in row 0."""
    return F.pad(x[..., :-1, :], (0, 0, 1, 0))


def _weights(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads steps"]:
    """How strongly each source enters, without the base."""
    if spec.lift.kind == "momentum":
        return terms.needed(signals.rate, "rate").transpose(1, 2)
    return terms.gate(spec, signals).transpose(1, 2)


def _weighed(
    spec: MixerSpec, signals: Signals, x: Float[Tensor, "batch num_heads rows steps"]
) -> Float[Tensor, "batch num_heads rows steps"]:
    """Each column times the weight of its source; delay1 adds the tap of the next step below the diagonal."""
    weight = _weights(spec, signals)[:, :, None]
    if spec.lift.kind != "delay1":
        return x * weight
    next_tap = F.pad(terms.needed(signals.tap, "tap")[:, 1:].transpose(1, 2), (0, 1))[:, :, None]
    diagonal = torch.eye(x.shape[-1], dtype=torch.bool, device=x.device)
    return x * torch.where(diagonal, weight, weight + next_tap)


def _scalar_decay(spec: MixerSpec, signals: Signals) -> Float[Tensor, "... seq_len seq_len"]:
    if spec.decay.is_identity:
        return signals.q.new_ones(signals.q.shape[1], signals.q.shape[1]).tril()
    log_decay = terms.needed(signals.log_decay, "log_decay").squeeze(-1).transpose(1, 2)
    return scalar_products(log_decay)


def _convolution(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """sum_n q_in taps[n, i - j] b_j k_jn."""
    taps, seq_len = terms.needed(signals.taps, "taps"), signals.q.shape[1]
    query, key = terms.scaled_query(spec, signals), terms.written_key(spec, signals)
    score = torch.einsum("bthn,hnts,bshn->bhts", query, _toeplitz(taps, seq_len), key)
    reached = torch.ones(seq_len, seq_len, dtype=torch.bool, device=score.device).triu(1 - taps.shape[-1])
    return torch.where(reached, score, 0.0)  # exactly 0 beyond the taps, whatever the key is


def _toeplitz(
    values: Float[Tensor, "... lags"], seq_len: int, *, delay: int = 0
) -> Float[Tensor, "... seq_len seq_len"]:
    """values[i - j - delay], 0 outside the lags."""
    position = torch.arange(seq_len, device=values.device)
    lag = position[:, None] - position[None, :] - delay
    inside = (lag >= 0) & (lag < values.shape[-1])
    return torch.where(inside, values[..., lag.clamp(0, values.shape[-1] - 1)], 0.0)


def _level_weights(signals: Signals) -> Float[Tensor, "batch num_heads seq_len seq_len"]:
    """levels[i, l(i, j)]: the block of j in the Fenwick split of [0, i) is the highest bit where i and j differ."""
    levels = terms.needed(signals.levels, "levels").transpose(1, 2)
    position = torch.arange(signals.q.shape[1], device=levels.device)
    differing = (position[:, None] ^ position[None, :]).tril()
    level = torch.frexp(differing.double()).exponent.long()  # bit length of the integer
    return levels.gather(-1, level.expand(*levels.shape[:2], -1, -1))


def _bias(spec: MixerSpec, signals: Signals) -> Float[Tensor, "..."]:
    """What the shear adds to each score."""
    before = spec.support.read == "before"
    if spec.shear.source == "table":
        bias = _toeplitz(terms.needed(signals.table, "table"), signals.q.shape[1], delay=int(before))
    else:
        bias = segment_sums(terms.needed(signals.shear, "shear").transpose(1, 2))
        bias = _down(bias) if before else bias
    if spec.shear.scaled:
        bias = bias * terms.score_base(spec, signals)[:, None, None]
    return bias.repeat_interleave(spec.erase.rank, dim=-1)


def _bidirectional(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch num_heads seq_len steps"]:
    """Rotations have an inverse, so both sides turn by their own phase."""
    query, key = terms.scaled_query(spec, signals), terms.written_key(spec, signals)
    angle = terms.angle(spec, signals)
    if angle is not None:
        phase = phases(angle)
        of_key = phase.repeat_interleave(spec.erase.rank, dim=1)
        query = rotate(spec, query, torch.cos(phase), torch.sin(phase))
        key = rotate(spec, key, torch.cos(of_key), torch.sin(of_key))
    return torch.einsum("bthn,bshn->bhts", query, key)


form = Form("quadratic", invalid_reason, apply)
