"""The recurrent form: a state that does not grow with the length, one step per (micro-)token.

Polynomial readouts: S_d = sum_j h_ij^(x d) v_j^T for every degree d with c_d != 0; A acts on each axis of the tensor
power. A shear is a unipotent step on two more coordinates of the key, [k; 0; 1], read with [q; 1; 0]; eta reads a
column of ones beside v. Exponential readouts with an additive score keep one sum and its running maximum.

Exponential gates under `stabiliser: running_max`: S_d is held relative to exp(d m), with m_t = max(log f_t + m_(t-1),
log b_t) and f_t the largest factor of the decay, so that no write and no kept state overflows.
Source: arXiv 2510.09389, principle 1; catalogue.md section 1.1; arXiv 2405.04517 (xLSTM), equations 15 to 17.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

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
FASTEST_FADE = -40.0  # of a running maximum, log per step: what is multiplied by its inverse stays a finite float32
LEAST_LOG_GATE = -1.0e4  # a gate of 0 has no logarithm

Step = Callable[[Tensor, int], Tensor]


@dataclass(frozen=True)
class _Stream:
    """Key and query of the (augmented) state, and its step; the last axis of a state is the key axis."""

    key: Float[Tensor, "batch steps num_heads m"]
    query: Float[Tensor, "batch seq_len num_heads m"]
    step: Step
    late_key: Float[Tensor, "batch steps num_heads m"] | None = None  # the key one step later, where a lift changes it
    maximum: Float[Tensor, "batch steps num_heads"] | None = None  # m_t: keys are relative to exp(m_t)


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
    total, shift, _ = _polynomial_sums(spec, signals, value)
    return rows.outputs_of_sums(spec, signals, total, shift=shift, target_len=target_len)


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
    state = tuple(_polynomial_sums(spec, signals, value)[2].values())
    if spec.lift.kind == "delay1":
        state = (*state, signals.k[:, -1], signals.v[:, -1])
    return (*state, _gate_maximum(spec, signals)[:, -1]) if spec.keeps_gate_maximum else state


def _polynomial_sums(
    spec: MixerSpec, signals: Signals, value: Float[Tensor, "batch steps num_heads p"]
) -> tuple[Float[Tensor, "batch seq_len num_heads p"], Float[Tensor, "..."], dict[int, Tensor]]:
    """sum_j phi(z_ij) exp(-shift_i) value_j over the support, phi a polynomial; the shift; the last state by degree."""
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
        result.append([weights[d] * _contract(x, stream.query[:, token], d) for d, x in seen.items()])
    parts = {d: torch.stack([row[index] for row in result], dim=1) for index, d in enumerate(weights)}
    if stream.maximum is None:
        total = torch.stack(tuple(parts.values())).sum(0)
        own = _own(spec, signals) * value[..., 0] if spec.support.read == "before" else 0.0
        return total + own, total.new_zeros(()), state
    held = _seen_maximum(spec, stream.maximum)
    if spec.support.read == "before":
        held, parts = _with_own(spec, signals, held, parts, weights, value[..., 0])
    return *_relative_sum(spec, parts, held), state


def _seen_maximum(
    spec: MixerSpec, maximum: Float[Tensor, "batch steps num_heads"]
) -> Float[Tensor, "batch seq_len num_heads"]:
    """m of the state that each query reads: that after its own token, or after the one before (`read: before`)."""
    last = maximum[:, spec.erase.rank - 1 :: spec.erase.rank]
    return last if spec.support.read == "after" else F.pad(last[:, :-1], (0, 0, 1, 0))


def _with_own(
    spec: MixerSpec,
    signals: Signals,
    held: Float[Tensor, "batch seq_len num_heads"],
    parts: dict[int, Tensor],
    weights: dict[int, float],
    value: Float[Tensor, "batch seq_len num_heads p"],
) -> tuple[Float[Tensor, "batch seq_len num_heads"], dict[int, Tensor]]:
    """The sums of each degree with the token itself, relative to the larger of the two maxima."""
    gate = _log_gate(spec, signals)
    bare = replace(signals, gate=torch.ones_like(gate))
    score = terms.diagonal_score(spec, bare) * terms.score_base(spec, signals)
    floor = 0.0 if not spec.shear.is_identity else LEAST_LOG_GATE
    top = torch.maximum(held, gate.detach().clamp(min=floor))
    own = score * torch.exp(gate - top)
    return top, {
        d: torch.exp(d * (held - top))[..., None] * part + weights[d] * (own**d)[..., None] * value
        for d, part in parts.items()
    }


def _relative_sum(
    spec: MixerSpec, parts: dict[int, Tensor], held: Float[Tensor, "batch seq_len num_heads"]
) -> tuple[Float[Tensor, "batch seq_len num_heads p"], Float[Tensor, "..."]]:
    """Sums of the degrees d, relative to exp(d m) each: their sum and its shift, where the row sum divides it out."""
    shift = torch.stack([degree * held for degree in parts]).amax(0)
    total = torch.stack([torch.exp(degree * held - shift)[..., None] * part for degree, part in parts.items()]).sum(0)
    if spec.normalization.sums_the_row:
        return total, shift.transpose(1, 2)
    return total * torch.exp(shift)[..., None], shift.new_zeros(())


def _gate_maximum(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch steps num_heads"]:
    """m_t = max(log f_t + m_(t-1), log b_t), f_t the largest factor of the decay; at least 0 beside a shear, whose
    constant coordinate is relative to it as well.
    """
    gate = _log_gate(spec, signals).detach()
    rank, fade = spec.erase.rank, torch.zeros_like(gate[:, 0])
    least = 0.0 if not spec.shear.is_identity else LEAST_LOG_GATE
    largest = None
    if not spec.decay.is_identity:
        largest = terms.needed(signals.log_decay, "log_decay").detach().amax(-1).clamp(min=FASTEST_FADE)
    top, found = gate[:, 0].clamp(min=least), []
    for step in range(gate.shape[1]):
        fade = largest[:, step // rank] if largest is not None and step % rank == 0 else torch.zeros_like(gate[:, 0])
        top = torch.maximum(top + fade, gate[:, step]).clamp(min=least)
        found.append(top)
    return torch.stack(found, dim=1)


def _log_gate(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch steps num_heads"]:
    found = terms.gate(spec, signals).log() if signals.log_gate is None else signals.log_gate
    if spec.lift.kind == "delay1":  # the present key has a share of the gate, the next step adds the rest
        found = (terms.gate(spec, signals) + terms.needed(signals.tap, "tap")).log()
    return found.expand(signals.k.shape[:-1]).clamp(min=LEAST_LOG_GATE)


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
    if not spec.keeps_gate_maximum:
        return _with_shear(spec, signals, _plain_stream(spec, signals), one=torch.ones_like(signals.k[..., :1]))
    maximum = _gate_maximum(spec, signals)
    plain = _plain_stream(spec, _relative(spec, signals, maximum))
    return _held_relative(_with_shear(spec, signals, plain, one=torch.exp(-maximum)[..., None]), maximum)


def _relative(spec: MixerSpec, signals: Signals, maximum: Float[Tensor, "batch steps num_heads"]) -> Signals:
    """Signals whose gates are relative to exp(m) of the step at which they write."""
    if spec.lift.kind != "delay1":
        return replace(signals, gate=torch.exp(_log_gate(spec, signals) - maximum))
    gate, tap = terms.gate(spec, signals), terms.needed(signals.tap, "tap")
    before = torch.cat([maximum[:, :1], maximum[:, :-1]], dim=1)  # the rest of the previous key joins its own step
    return replace(signals, gate=gate * torch.exp(-maximum), tap=tap * torch.exp(-before))


def _held_relative(plain: _Stream, maximum: Float[Tensor, "batch steps num_heads"]) -> _Stream:
    """The stream whose state is relative to exp(m_t): a step first scales what the one before has left."""
    change = torch.exp(maximum[:, :-1] - maximum[:, 1:])[..., None, None]

    def step(state: Tensor, at: int) -> Tensor:
        return plain.step(state * change[:, at - 1] if at else state, at)

    return replace(plain, step=step, maximum=maximum)


def _with_shear(
    spec: MixerSpec, signals: Signals, plain: _Stream, *, one: Float[Tensor, "batch steps num_heads 1"]
) -> _Stream:
    """[k; 0; 1] read with [q; 1; 0]: a step adds the increment times the last coordinate to the one before."""
    if spec.shear.is_identity:
        return plain
    increment = terms.needed(signals.shear, "shear")
    if spec.shear.scaled:
        increment = increment * terms.score_base(spec, signals)
    core, rank = plain.key.shape[-1], spec.erase.rank

    def step(state: Tensor, at: int) -> Tensor:
        moved, bias, last = plain.step(state[..., :core], at), state[..., core : core + 1], state[..., core + 1 :]
        if at % rank == 0:
            bias = bias + increment[:, at // rank, :, None, None] * last
        return torch.cat([moved, bias, last], dim=-1)

    def with_bias(key: Tensor) -> Tensor:
        return torch.cat([F.pad(key, (0, 1)), one], dim=-1)

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
