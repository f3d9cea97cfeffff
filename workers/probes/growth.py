"""How large are outputs and state after many tokens, and how do they grow with the length? (P6.1)"""

import math
import statistics
from collections.abc import Iterator
from dataclasses import replace

import torch

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers.forms import recurrent
from workers.probe import Probe, Subject, prefix, resized
from workers.signals import Signals

LENGTHS = (8, 16, 32, 64)  # tokens of the slope; the gain is that of the last
BATCH = 8
STATE_KEY = 8  # key channels of the state whose norm is taken


def _mixer(subject: Subject) -> Iterator[Measurement]:
    lengths = [length for length in LENGTHS if length <= subject.candidate.target.seq_len]
    if not lengths:
        return
    spec = _without_skip(subject.scaled)
    curves = [_gains(subject, spec, draw, lengths) for draw in range(subject.draws)]
    yield from subject.rms("output_gain", [curve[-1] for curve in curves], length=lengths[-1])
    yield from _slope(subject, "output_gain_slope", curves, lengths)
    narrow = resized(subject.small, state_dim=min(STATE_KEY, subject.small.heads.state_dim)) or subject.small
    if recurrent.form.invalid_reason(narrow) is None:
        norms = [_state_norms(subject, narrow, draw, lengths) for draw in range(subject.draws)]
        yield from _slope(subject, "state_norm_slope", norms, lengths)


def _without_skip(spec: MixerSpec) -> MixerSpec:
    """The mixer without D: what the row sums, not what passes it by."""
    if spec.support.diagonal != "D":
        return spec
    return spec.model_copy(update={"support": spec.support.model_copy(update={"diagonal": "none"})})


def _gains(subject: Subject, spec: MixerSpec, draw: int, lengths: list[int]) -> list[float]:
    """rms of the outputs of query `length` over the rms of the values, all heads."""
    signals = _with_other_values(subject, spec, draw, lengths[-1])
    y, scale = subject.outputs(spec, draw, signals), float(signals.v.square().mean().sqrt())
    return [float(y[:, length - 1].square().mean().sqrt()) / scale for length in lengths]


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
        "output_gain": "rms of the last output over the rms of the values, before the output stage and without D",
        "output_gain_slope": "of log output_gain against log length, 8 to 64 tokens",
        "state_norm_slope": "of the log of the norm of the recurrent state against log length, 8 to 64 tokens",
    },
    mixer=_mixer,
)
