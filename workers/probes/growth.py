"""How large are outputs and state after many tokens, and how do they grow with the length? (P6.1)"""

import math
import statistics
from collections.abc import Iterator
from dataclasses import replace

import torch

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.readout import monomials
from workers.forms import recurrent
from workers.probe import Probe, Subject, prefix, resized
from workers.signals import Signals

LENGTHS = (8, 16, 32, 64)  # tokens of the slope; the gain is that of the last
BATCH = 8
MORE = 16  # times the draws, where few of them do not settle the gain
SETTLED = 0.2  # standard error of the mean square, relative to it
HEADS = 16  # at most, where each has a decay or a gate of its own
EXPLODED = 1e3  # gain of which only the size matters
STATE_KEY = 8  # key channels of the state whose norm is taken
STATE_ROWS = 512  # at most, of that state


def _mixer(subject: Subject) -> Iterator[Measurement]:
    lengths = [length for length in LENGTHS if length <= subject.candidate.target.seq_len]
    if not lengths:
        return
    spec = _without_skip(_with_its_filter(subject, _with_heads(subject)))
    curves: list[list[float]] = []
    while len(curves) < subject.draws or (_scatters(curves) and len(curves) < MORE * subject.draws):
        curves += [_gains(subject, spec, len(curves) + draw, lengths) for draw in range(subject.draws)]
    yield from subject.rms("output_gain", [curve[-1] for curve in curves], length=lengths[-1])
    yield from _slope(subject, "output_gain_slope", curves, lengths)
    narrow = _with_small_state(subject.small)
    if recurrent.form.invalid_reason(narrow) is None and _rows(narrow) <= STATE_ROWS:
        norms = [_state_norms(subject, narrow, draw, lengths) for draw in range(subject.draws)]
        yield from _slope(subject, "state_norm_slope", norms, lengths)


def _with_small_state(spec: MixerSpec) -> MixerSpec:
    """With keys that are narrow enough for a tensor power of them to be stepped through."""
    found = spec
    for width in (STATE_KEY, STATE_KEY // 2, STATE_KEY // 4):
        found = resized(spec, state_dim=min(width, spec.heads.state_dim)) or found
        if _rows(found) <= STATE_ROWS:
            break
    return found


def _rows(spec: MixerSpec) -> int:
    """Rows of the largest tensor power of the keys."""
    width = spec.key_dim * (2 if spec.lift.kind == "momentum" else 1) * (spec.lift.width or 1)
    return int((width + (0 if spec.shear.is_identity else 2)) ** max(monomials(spec.readout), default=1))


def _scatters(curves: list[list[float]]) -> bool:
    """The draws differ so much that their mean square is uncertain: products of few numbers have heavy tails."""
    squares = [curve[-1] * curve[-1] for curve in curves]
    if not all(square < EXPLODED * EXPLODED for square in squares):
        return False  # more draws do not change that
    return statistics.stdev(squares) > SETTLED * math.sqrt(len(squares)) * statistics.fmean(squares)


def _with_heads(subject: Subject) -> MixerSpec:
    """More heads than elsewhere, and as many to a stream as in the mixer: each lies at a point of the range that decays
    and gates span.
    """
    spec, heads = subject.scaled, subject.spec.heads
    count = min(heads.num_heads, HEADS)
    groups = None if heads.kv_groups is None else max(heads.kv_groups * count // heads.num_heads, 1)
    return resized(spec, num_heads=count, kv_groups=groups) or spec


def _with_its_filter(subject: Subject, spec: MixerSpec) -> MixerSpec:
    """With all taps: the gain over a length is that of the taps it has room for."""
    return spec if spec.lift == subject.spec.lift else spec.model_copy(update={"lift": subject.spec.lift})


def _without_skip(spec: MixerSpec) -> MixerSpec:
    """The mixer without D: what the row sums, not what passes it by."""
    if spec.support.diagonal != "D":
        return spec
    return spec.model_copy(update={"support": spec.support.model_copy(update={"diagonal": "none"})})


def _gains(subject: Subject, spec: MixerSpec, draw: int, lengths: list[int]) -> list[float]:
    """rms over the rms of the values of the output of the query that sees most of `length` tokens, all heads."""
    signals = _with_other_values(subject, spec, draw, lengths[-1])
    scale = float(signals.v.square().mean().sqrt())
    whole = None if spec.support.mask == "none" else subject.outputs(spec, draw, signals)
    found = []
    for length in lengths:
        y = subject.outputs(spec, draw, prefix(signals, length, spec.erase.rank)) if whole is None else whole
        found.append(float(y[:, _sees_most(spec, length)].square().mean().sqrt()) / scale)
    return found


def _sees_most(spec: MixerSpec, length: int) -> int:
    """The last of the queries that read most keys."""
    return max(range(length), key=lambda position: (spec.support.visible(position, length), position))


def _with_other_values(subject: Subject, spec: MixerSpec, draw: int, length: int) -> Signals:
    """Signals with the values of other tokens: in a residual stream of d channels, values and scores of the same L
    tokens are correlated, and signed scores alone then add up to sqrt(1 + L / d) times as much.
    """
    signals = subject.signals(spec, draw, length, batch=BATCH)
    other = subject.tokens(spec, draw, length, name="values", batch=BATCH)
    return replace(signals, v=subject.mixer(spec, draw).project(other)[0].v)


def _state_norms(subject: Subject, spec: MixerSpec, draw: int, lengths: list[int]) -> list[float]:
    """Frobenius norm of the recurrent state after each length, mean over batch and heads."""
    signals = _with_other_values(subject, spec, draw, lengths[-1])
    found = []
    for length in lengths:
        parts = recurrent.kept_state(spec, prefix(signals, length, spec.erase.rank))
        flat = torch.cat([part.flatten(2) if part.dim() > 2 else part[..., None] for part in parts[:1]], dim=-1)
        found.append(float(flat.square().sum(-1).mean().sqrt()))
    return found


def _slope(subject: Subject, quantity: str, curves: list[list[float]], lengths: list[int]) -> list[Measurement]:
    if len(lengths) < 2 or not all(value > 0 and math.isfinite(value) for curve in curves for value in curve):
        return []
    log_length = [math.log(length) for length in lengths]
    slopes = [statistics.linear_regression(log_length, list(map(math.log, curve))).slope for curve in curves]
    return subject.mean(quantity, slopes, length=lengths[-1])


probe = Probe(
    quantities={
        "output_gain": "rms of the output of the query that sees most, over the rms of the values, before the output"
        " stage and without D",
        "output_gain_slope": "of log output_gain against log length, 8 to 64 tokens",
        "state_norm_slope": "of the log of the norm of the recurrent state against log length, 8 to 64 tokens",
    },
    mixer=_mixer,
)
