"""How wide are the scores at initialisation, and how does that change with the width of the keys? (P5)"""

import math
import statistics
from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import terms
from workers.probe import Probe, Subject, resized

LENGTH = 64
STATE_DIMS = (8, 16, 32, 64)  # of the slope of log std against log n


def _mixer(subject: Subject) -> Iterator[Measurement]:
    found = [_score(subject, subject.scaled, draw) for draw in range(subject.draws)]
    yield from subject.rms("score_std", [std for std, _ in found], length=LENGTH)
    yield from subject.mean("score_mean", [mean for _, mean in found], length=LENGTH)
    sizes = [(n, other) for n in STATE_DIMS if (other := resized(subject.scaled, state_dim=n)) is not None]
    curves = [[_score(subject, other, draw)[0] for draw in range(subject.draws)] for _, other in sizes]
    if len(sizes) > 1 and min(map(min, curves)) > 0:
        log_n = [math.log(n) for n, _ in sizes]
        by_draw = zip(*curves, strict=True)
        slopes = [statistics.linear_regression(log_n, list(map(math.log, draw))).slope for draw in by_draw]
        yield from subject.mean("slope", slopes, length=LENGTH)


def _score(subject: Subject, spec: MixerSpec, draw: int) -> tuple[float, float]:
    """Standard deviation of q_i . b_j k_j about the mean of its head, and that mean, over pairs of different tokens."""
    signals = subject.signals(spec, draw, LENGTH)
    key = signals.k * terms.gate(spec, signals)[..., None] * terms.score_base(spec, signals)[:, None]
    score = torch.einsum("bthn,bshn->hbts", terms.query(spec, signals), key)
    token = torch.arange(key.shape[1]) // spec.erase.rank
    apart: Tensor = score[..., torch.arange(LENGTH)[:, None] != token]
    return float((apart - apart.mean((1, 2), keepdim=True)).square().mean().sqrt()), float(apart.mean())


probe = Probe(
    quantities={
        "score_std": "standard deviation of q_i . b_j k_j over random tokens about its mean, without the evolution",
        "score_mean": "mean of q_i . b_j k_j over random tokens",
        "slope": "of log score_std against log n, keys of 8 to 64 channels",
    },
    mixer=_mixer,
)
