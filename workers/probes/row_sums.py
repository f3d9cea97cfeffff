"""Do the rows of the form sum to what the definition says? And what does eta do: how near zero, how often negative?

eta is measured at the form itself: the same signals without normalization and with values of 1 give the sum over phi.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers import rows
from workers.probe import TINY, Probe, Subject
from workers.signals import Signals


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec, length = subject.small, subject.length
    deviations, sums, lowest, negative = [], [], [], []
    for draw in range(subject.draws):
        signals = subject.signals(spec, draw, length)
        made = subject.outputs(spec, draw, replace(signals, v=torch.ones_like(signals.v)))[..., 0].transpose(1, 2)
        alpha = definition.coefficients(spec, signals, target_len=subject.mixer(spec, draw).target_len)
        deviations.append(_deviation(alpha, made))
        sums.append(float(made[made.isfinite()].mean()))
        if spec.normalization.sums_the_row:
            eta = _eta(subject, spec, draw, signals)
            lowest.append(float(eta.abs().min() / eta.abs().mean().clamp(min=TINY)))
            negative.append(float((eta < 0).double().mean()))
    yield from subject.largest("row_sum_deviation", deviations, length=length)
    yield from subject.mean("row_sum", sums, length=length)
    yield from subject.smallest("eta_smallest", lowest, length=length)
    yield from subject.mean("eta_negative", negative, length=length)


def _deviation(alpha: Tensor, made: Tensor) -> float:
    """Largest |sum of the form - sum of the definition| over the row's sum of |alpha|; rows that are 0 / 0 in both
    count as equal.
    """
    due, scale = alpha.sum(-1), alpha.abs().sum(-1)
    finite = due.isfinite() | made.isfinite()
    if not finite.any():
        return 0.0
    floor = 1e-6 * float(scale[scale.isfinite()].mean()) if scale.isfinite().any() else TINY
    return float(((made - due).abs() / scale.clamp(min=max(floor, TINY)))[finite].max())


def _eta(subject: Subject, spec: MixerSpec, draw: int, signals: Signals) -> Tensor:
    """eta_i of the row sums that the form makes [batch, num_heads, seq_len]."""
    bare = spec.model_copy(
        update={
            "normalization": spec.normalization.model_copy(update={"kind": "none", "factor": 1.0}),
            "support": _within_phi(spec).support,
            "scaling": spec.scaling.model_copy(update={"where": "score", "base": 1.0})
            if spec.scaling.where == "after"
            else spec.scaling,
        }
    )
    ones = replace(signals, v=torch.ones_like(signals.v))
    total = subject.outputs(spec, draw, ones, of=bare)[..., 0].transpose(1, 2)
    return rows.eta(spec, signals, total, shift=total.new_zeros(()), target_len=subject.mixer(spec, draw).target_len)


def _within_phi(spec: MixerSpec) -> MixerSpec:
    """The mixer without the diagonal terms that stand outside phi and eta."""
    if spec.support.read == "before" or spec.support.diagonal == "none":
        return spec
    return spec.model_copy(update={"support": spec.support.model_copy(update={"diagonal": "none"})})


probe = Probe(
    quantities={
        "row_sum_deviation": "largest difference of a row sum from the float64 definition, over sum |alpha|",
        "row_sum": "mean row sum",
        "eta_smallest": "smallest |eta| over the mean |eta|",
        "eta_negative": "share of queries whose eta is negative",
    },
    mixer=_mixer,
)
