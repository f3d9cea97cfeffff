"""What part of a row does the next query keep? |eta_(i-1) / eta_i|, the per-step factor of a mixer that sums its rows.

For a softmax it stands where the eigenvalues of A_t stand in a recurrence: y_i = (eta_(i-1) / eta_i) y_(i-1) + ...,
if the queries were equal (arXiv 2510.09379).
"""

import math
from collections.abc import Iterator

from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers import rows
from workers.probe import Probe, Subject
from workers.probes.evolution import SIZES, share
from workers.signals import Signals


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = subject.small
    if not spec.normalization.sums_the_row or spec.support.mask == "none":
        return
    ratios = [
        eta_ratios(spec, subject.signals(spec, draw, subject.length), target_len=subject.candidate.target.seq_len)
        for draw in range(subject.draws)
    ]
    for low, high in zip(SIZES, (*SIZES[1:], math.inf), strict=True):
        yield from subject.mean(ratio_bin(low), [share(one, low, high) for one in ratios], length=subject.length)


def eta_ratios(spec: MixerSpec, signals: Signals, *, target_len: int | None = None) -> Tensor:
    """Every |eta_(i-1) / eta_i| of the definition, flat; eta_i is that of the whole row, without a stabiliser."""
    score = definition.scores(spec, definition.in_float64(signals))
    weight, shift = rows.weights(spec, signals, score, stabilise=True, target_len=target_len)
    eta = rows.eta(spec, signals, weight.sum(-1), shift=shift, target_len=target_len)
    logs = eta.abs().log() + shift
    ratios = (logs[..., :-1] - logs[..., 1:]).exp().flatten()
    return ratios[ratios.isfinite()]


def ratio_bin(low: float) -> str:
    """Name of the share of |eta_(i-1) / eta_i| above `low`."""
    return f"eta_ratio_share_above_{low:g}"


probe = Probe(
    quantities={ratio_bin(low): f"share of |eta_(i-1) / eta_i| in the bin that starts at {low:g}" for low in SIZES},
    mixer=_mixer,
)
