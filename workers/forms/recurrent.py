"""The recurrent form: a state that does not grow with the length, one step per (micro-)token.

Polynomial readouts: S_d = sum_j h_ij^(x d) v_j^T for every degree d with c_d != 0; A acts on each axis of the tensor
power. A shear is a unipotent step on two more coordinates of the key, [k; 0; 1], read with [q; 1; 0]; eta reads a
column of ones beside v. Exponential readouts with an additive score keep one sum and its running maximum.
Source: arXiv 2510.09389, principle 1; catalogue.md section 1.1.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from designspace.readout import polynomial_coefficients
from workers import rows, terms
from workers.form import Form
from workers.phi import phi
from workers.signals import Signals
from workers.transition import rotate

MAX_ROWS = 2**20  # rows of the largest tensor power per head

Step = Callable[[Tensor, int], Tensor]


@dataclass(frozen=True)
class _Stream:
    """Key and query of the (augmented) state, and its step; the last axis of a state is the key axis."""

    key: Float[Tensor, "batch steps num_heads m"]
    query: Float[Tensor, "batch seq_len num_heads m"]
    step: Step
    late_key: Float[Tensor, "batch steps num_heads m"] | None = None  # the key one step later, where a lift changes it


def invalid_reason(spec: MixerSpec) -> str | None:
    """Why the spec has no finite recurrence here, or None."""
    if spec.support.mask == "none":
        return "`support.mask: none` reads later tokens."
    if spec.support.window is not None:
        return f"`support.window: {spec.support.window}` has to forget single keys, which a sum cannot."
    if spec.score_is_additive:
        return _additive_reason(spec)
    coefficients = polynomial_coefficients(spec.readout)
    if coefficients is None:
        return f"`readout.kind: {spec.readout.kind}` is nonlinear without a finite lift."
    if spec.lift.kind == "fenwick":
        return "`lift.kind: fenwick` needs a state that grows with the log of the length."
    if spec.shear.source == "table":
        return "`shear.source: table` needs the position of every key."
    lifted = _width(spec) ** max(degree for degree, c in enumerate(coefficients) if c != 0)
    if lifted > MAX_ROWS:
        return f"the lifted state has {lifted} rows per head, more than {MAX_ROWS}."
    return None


def _additive_reason(spec: MixerSpec) -> str | None:
    if spec.shear.source == "table":
        return "`shear.source: table` needs the position of every key."
    if spec.scaling.query_schedule != "none":
        return "`scaling.query_schedule` multiplies the score by a function of i, which exp does not factorise."
    return None


def apply(
    spec: MixerSpec, signals: Signals, *, target_len: int | None = None
) -> Float[Tensor, "batch seq_len num_heads head_dim"]:
    """Outputs in the dtype of the signals.

    Raises:
        ValueError: the spec has no such form.
    """
    reason = invalid_reason(spec)
    if reason is not None:
        raise ValueError(f"this mixer has no recurrent form: {reason}")
    value = rows.summed_columns(spec, signals)
    if spec.score_is_additive:
        total, shift, _ = _running_sums(spec, signals, value)
        return rows.outputs_of_sums(spec, signals, total, shift=shift, target_len=target_len)
    total, _ = _polynomial_sums(spec, signals, value)
    return rows.outputs_of_sums(spec, signals, total, target_len=target_len)


def kept_state(spec: MixerSpec, signals: Signals) -> tuple[Tensor, ...]:
    """What the recurrence holds after the last token, [batch, num_heads, ...] each: all that the next token needs.

    Raises:
        ValueError: the spec has no such form.
    """
    reason = invalid_reason(spec)
    if reason is not None:
        raise ValueError(f"this mixer has no recurrent form: {reason}")
    value = rows.summed_columns(spec, signals)
    if spec.score_is_additive:
        return _running_sums(spec, signals, value)[2]
    state = tuple(_polynomial_sums(spec, signals, value)[1].values())
    return (*state, signals.k[:, -1], signals.v[:, -1]) if spec.lift.kind == "delay1" else state


def _polynomial_sums(
    spec: MixerSpec, signals: Signals, value: Float[Tensor, "batch steps num_heads p"]
) -> tuple[Float[Tensor, "batch seq_len num_heads p"], dict[int, Tensor]]:
    """sum_j phi(z_ij) value_j over the support, phi a polynomial, and the last state by degree."""
    stream, rank = _stream(spec, signals), spec.erase.rank
    weights = {d: c for d, c in enumerate(polynomial_coefficients(spec.readout) or ()) if c != 0}
    value = value[..., None]  # the key axis stands last
    start = {d: torch.zeros_like(_outer(value[:, 0], stream.key[:, 0], d)) for d in weights}
    state, result = start, []
    for token in range(signals.q.shape[1]):
        fresh = spec.support.chunk is not None and token % spec.support.chunk == 0
        if fresh:
            state = start
        if stream.late_key is not None and token > 0 and not fresh:
            late, early = stream.late_key[:, token - 1], stream.key[:, token - 1]
            state = {d: x + value[:, token - 1] * _grown(late, early, d) for d, x in state.items()}
        seen = state
        for step in range(token * rank, (token + 1) * rank):
            if spec.support.mask == "strict":
                seen = {d: _act(x, stream, step, d) for d, x in seen.items()}
            state = {
                d: _act(x, stream, step, d) + _outer(value[:, step], stream.key[:, step], d) for d, x in state.items()
            }
        if spec.support.mask == "causal" and spec.support.read == "after":
            seen = state
        parts = [weights[d] * _contract(x, stream.query[:, token], d) for d, x in seen.items()]
        result.append(torch.stack(parts).sum(0))
    total = torch.stack(result, dim=1)
    return total + _own(spec, signals) * value[..., 0] if spec.support.read == "before" else total, state


def _own(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch seq_len num_heads 1"]:
    """phi of the diagonal score of a mixer that reads before its step."""
    score = terms.diagonal_score(spec, signals) * terms.score_base(spec, signals)
    return phi(spec.readout, score, torch.zeros_like(score))[..., None]


def _power(x: Float[Tensor, "... m"], degree: int) -> Float[Tensor, "... rows"]:
    """The tensor power of x, flattened; [1] for degree 0."""
    result = torch.ones_like(x[..., :1])
    for _ in range(degree):
        result = (result[..., :, None] * x[..., None, :]).flatten(-2)
    return result


def _outer(value: Float[Tensor, "batch num_heads p 1"], key: Float[Tensor, "batch num_heads m"], degree: int) -> Tensor:
    return value * _power(key, degree)[..., None, :]


def _contract(state: Tensor, query: Float[Tensor, "batch num_heads m"], degree: int) -> Tensor:
    return (state @ _power(query, degree)[..., None]).squeeze(-1)


def _act(state: Tensor, stream: _Stream, step: int, degree: int) -> Tensor:
    """A_t on every axis of the tensor power: on the last axis, which then moves to the front, `degree` times."""
    width = stream.key.shape[-1]
    for _ in range(degree):
        moved = stream.step(state.reshape(*state.shape[:2], -1, width), step)
        state = moved.reshape(*state.shape[:3], -1, width).mT.flatten(-2)
    return state


def _grown(late: Tensor, early: Tensor, degree: int) -> Float[Tensor, "batch num_heads 1 rows"]:
    """What the previous key gains between its own step and the next: gate k becomes (gate + tap) k (delay1)."""
    return (_power(late, degree) - _power(early, degree))[..., None, :]


def _stream(spec: MixerSpec, signals: Signals) -> _Stream:
    """The linear state of h, with two more coordinates where the score has a shear."""
    plain = _plain_stream(spec, signals)
    if spec.shear.is_identity:
        return plain
    increment = terms.needed(signals.shear, "shear")
    if spec.shear.scaled:
        increment = increment * terms.score_base(spec, signals)
    core, rank = plain.key.shape[-1], spec.erase.rank

    def step(state: Tensor, at: int) -> Tensor:
        moved, bias, one = plain.step(state[..., :core], at), state[..., core : core + 1], state[..., core + 1 :]
        if at % rank == 0:
            bias = bias + increment[:, at // rank, :, None, None] * one
        return torch.cat([moved, bias, one], dim=-1)

    def with_bias(key: Tensor) -> Tensor:
        return F.pad(F.pad(key, (0, 1)), (0, 1), value=1.0)

    late = None if plain.late_key is None else with_bias(plain.late_key)
    query = F.pad(F.pad(plain.query, (0, 1), value=1.0), (0, 1))
    return _Stream(with_bias(plain.key), query, step, late)


def _plain_stream(spec: MixerSpec, signals: Signals) -> _Stream:
    query, bare = terms.query(spec, signals), signals.k * terms.score_base(spec, signals)[:, None]
    gate = terms.gate(spec, signals)[..., None]
    match spec.lift.kind:
        case "momentum":
            rate = terms.needed(signals.rate, "rate")[..., None]
            key = torch.cat([gate * rate * bare, -rate * bare], dim=-1)
            return _Stream(key, F.pad(query, (0, query.shape[-1])), _heavy_ball_step(spec, signals))
        case "shift":
            taps = terms.needed(signals.taps, "taps")
            width = taps.shape[-1]
            cells = (query[..., None] * taps).flatten(-2)
            return _Stream(F.pad((gate * bare)[..., None], (0, width - 1)).flatten(-2), cells, _shift_step(width))
        case "delay1":
            next_tap = F.pad(terms.needed(signals.tap, "tap")[:, 1:], (0, 0, 0, 1))[..., None]
            return _Stream(gate * bare, query, _evolution_step(spec, signals), (gate + next_tap) * bare)
        case _:
            return _Stream(gate * bare, query, _evolution_step(spec, signals))


def _evolution_step(spec: MixerSpec, signals: Signals) -> Step:
    """X -> X A_t^T on the last axis."""
    rank = spec.erase.rank
    decay = None if spec.decay.is_identity else torch.exp(terms.needed(signals.log_decay, "log_decay"))
    angle = terms.angle(spec, signals)
    erase = None if spec.erase.is_identity else terms.erase_vectors(spec, signals)
    additive = spec.erase.compose == "additive"

    def step(state: Tensor, at: int) -> Tensor:
        moved = state
        if at % rank == 0:
            if decay is not None:
                moved = moved * decay[:, at // rank, :, None]
            if angle is not None:
                turn = angle[:, at // rank, :, None]
                moved = rotate(spec, moved, torch.cos(turn), -torch.sin(turn))
        if erase is None:
            return moved
        left, right = erase
        overlap = (state if additive else moved) @ right[:, at, :, :, None]
        return moved - overlap * left[:, at, :, None]

    return step


def _heavy_ball_step(spec: MixerSpec, signals: Signals) -> Step:
    """[S; M]: M <- mu M + eta k p^T S and S <- a S - beta M, without the write."""
    decay = None if spec.decay.is_identity else torch.exp(terms.needed(signals.log_decay, "log_decay"))
    second = signals.k if signals.second is None else signals.second.expand_as(signals.k)
    momentum, rate = terms.needed(signals.momentum, "momentum"), terms.needed(signals.rate, "rate")
    gain = terms.gate(spec, signals)

    def step(state: Tensor, at: int) -> Tensor:
        memory, velocity = state.chunk(2, dim=-1)
        overlap = memory @ second[:, at, :, :, None]
        gradient = rate[:, at, :, None, None] * overlap * signals.k[:, at, :, None]
        velocity = momentum[:, at, :, None, None] * velocity + gradient
        if decay is not None:
            memory = memory * decay[:, at, :, None]
        return torch.cat([memory - gain[:, at, :, None, None] * velocity, velocity], dim=-1)

    return step


def _shift_step(width: int) -> Step:
    """Every key moves one cell on and falls out after `width` cells."""

    def step(state: Tensor, at: int) -> Tensor:
        del at
        cells = state.reshape(*state.shape[:-1], -1, width)
        return F.pad(cells[..., :-1], (1, 0)).flatten(-2)

    return step


def _width(spec: MixerSpec) -> int:
    """Width of the (augmented) key."""
    core = spec.key_dim * (2 if spec.lift.kind == "momentum" else 1) * (spec.lift.width or 1)
    return core if spec.shear.is_identity else core + 2


def _running_sums(
    spec: MixerSpec, signals: Signals, value: Float[Tensor, "batch steps num_heads p"]
) -> tuple[Float[Tensor, "batch seq_len num_heads p"], Float[Tensor, "..."], tuple[Tensor, ...]]:
    """sum_j exp(z_ij - shift_i) value_j, the shift, and the last state, for z_ij = s_j + the shears between
    (equivalence 9).

    The shift is the running maximum where the row sum divides it out, else 0.
    """
    rank, stable = spec.erase.rank, rows.shift_cancels(spec) and spec.execution.stabiliser != "none"
    base = terms.score_base(spec, signals)
    query = terms.query(spec, signals).repeat_interleave(rank, dim=1)
    score = (query * signals.k).sum(-1) * terms.gate(spec, signals) * base
    increment = torch.zeros_like(score[:, ::rank]) if spec.shear.is_identity else terms.needed(signals.shear, "shear")
    increment = (increment * base if spec.shear.scaled else increment).expand_as(score[:, ::rank])
    own = terms.diagonal_score(spec, signals) * base if spec.support.read == "before" else None
    state, top = torch.zeros_like(value[:, 0]), torch.full_like(score[:, 0], -torch.inf)
    totals, shifts = [], []
    for token in range(signals.q.shape[1]):
        if spec.support.chunk is not None and token % spec.support.chunk == 0:
            state, top = torch.zeros_like(state), torch.full_like(top, -torch.inf)
        seen = (state, top) if own is not None else (state, top + increment[:, token])
        state, top = state, top + increment[:, token]
        for step in range(token * rank, (token + 1) * rank):
            state, top = _absorbed(state, top, score[:, step], value[:, step])
        if own is not None:
            seen = _absorbed(*seen, own[:, token], value[:, token])
        elif spec.support.mask == "causal":
            seen = (state, top)
        totals.append(seen[0])
        shifts.append(seen[1])
    total, shift = _common_shift(torch.stack(totals, dim=1), torch.stack(shifts, dim=1), keep=stable)
    return total, shift, (state, top)


def _absorbed(state: Tensor, top: Tensor, score: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The sum with one more term exp(score) value; `state` is held relative to exp(top)."""
    higher = torch.maximum(top, score).detach()
    higher = torch.where(higher == -torch.inf, 0.0, higher)
    kept, added = torch.exp(top - higher), torch.exp(score - higher)
    return state * kept[..., None] + added[..., None] * value, higher


def _common_shift(
    total: Float[Tensor, "batch seq_len num_heads p"], shift: Float[Tensor, "batch seq_len num_heads"], *, keep: bool
) -> tuple[Tensor, Tensor]:
    """Sums relative to their shift, or the plain sums and no shift; 0 is the shift of an empty row."""
    shift = torch.where(shift == -torch.inf, 0.0, shift)
    if keep:
        return total, shift.transpose(1, 2)
    return total * torch.exp(shift)[..., None], shift.new_zeros(())


form = Form("recurrent", invalid_reason, apply)
