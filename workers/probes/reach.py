"""How far back does a gradient reach? |dy_i / dv_j| is |alpha_ij|: its mean against the lag i - j, at the start."""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from workers.probe import Probe, Subject

LENGTH = 64


def _mixer(subject: Subject) -> Iterator[Measurement]:
    length = subject.at_most(LENGTH)
    if length < 2 or subject.spec.support.mask == "none":
        return
    curves = [_by_lag(subject, draw, length) for draw in range(subject.draws)]
    yield from subject.mean("gradient_half_lag", [_half_lag(one) for one in curves], length=length, unit="tokens")
    ends = [float(one[-1] / one.max()) for one in curves]
    yield from subject.mean("gradient_at_last_lag", ends, length=length)


def _by_lag(subject: Subject, draw: int, length: int) -> Tensor:
    """Mean |alpha| of the last query at each lag [length]."""
    spec = subject.small
    alpha = subject.coefficients(spec, draw, subject.signals(spec, draw, length))
    last = alpha[:, :, -1].abs().nan_to_num()
    return last.reshape(*last.shape[:2], length, spec.erase.rank).sum(-1).mean((0, 1)).flip(0)


def _half_lag(curve: Tensor) -> float:
    """The first lag from which on the gradients hold at most half of their sum."""
    rest = curve.sum() - curve.cumsum(0)
    return float(torch.nonzero(rest <= 0.5 * curve.sum())[0])


probe = Probe(
    quantities={
        "gradient_half_lag": "lag up to which the last query has half of its gradient norms |dy_i / dv_j|",
        "gradient_at_last_lag": "mean |dy_i / dv_j| at the longest lag over its largest",
    },
    mixer=_mixer,
)
