"""Are outputs and gradients finite where the definition is? Under tokens that a sound form takes and a careless one
does not: decays that forget at once, zeros in front of the sequence, queries whose mean is 0, scores beyond exp.

The definition runs on the same signals, so what a design itself cannot take is no fault of its form.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import torch
from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers import rows
from workers.probe import Probe, Subject
from workers.signals import Signals

PREFIX = "nonfinite"
LOG_DECAYS = (-100.0, -20.0)  # per step: over 24 tokens the inverse of their product overflows in float64
PADDING = 5  # zero tokens in front
LARGE = 1000.0  # times the queries: exp of the scores overflows in float64 unless a maximum is subtracted

Stress = Callable[[MixerSpec, Signals], Signals | None]


def plain(_spec: MixerSpec, signals: Signals) -> Signals:
    """The signals of random tokens."""
    return signals


def strong_decay(spec: MixerSpec, signals: Signals) -> Signals | None:
    """Every step forgets nearly everything, where the decay may do so by the token."""
    log_decay = signals.log_decay
    if log_decay is None or not spec.decay.reads_input or spec.decay.hull[0] > 0.0:
        return None
    share = torch.linspace(0.0, 1.0, log_decay.shape[1], dtype=log_decay.dtype)[:, None, None]
    low, high = LOG_DECAYS
    return replace(signals, log_decay=(low + (high - low) * share).expand_as(log_decay))


def leading_zeros(_spec: MixerSpec, signals: Signals) -> Signals:
    """The first queries, keys and values are 0, as those of padding are."""
    rank = signals.k.shape[1] // signals.q.shape[1]
    return replace(
        signals,
        q=_blank(signals.q, PADDING),
        k=_blank(signals.k, PADDING * rank),
        v=_blank(signals.v, PADDING * rank),
    )


def cancelling_queries(_spec: MixerSpec, signals: Signals) -> Signals:
    """Neighbouring queries are opposite to each other, so that their mean is exactly 0."""
    q = signals.q.clone()
    q[:, 1::2] = -q[:, : q.shape[1] - 1 : 2]
    q[:, q.shape[1] - q.shape[1] % 2 :] = 0.0
    return replace(signals, q=q)


def large_scores(spec: MixerSpec, signals: Signals) -> Signals | None:
    """Scores that overflow in exp, where the spec has something that subtracts their maximum."""
    if not rows.shift_cancels(spec) or spec.execution.stabiliser == "none":
        return None
    return replace(signals, q=signals.q * LARGE)


STRESSES: tuple[Stress, ...] = (plain, strong_decay, leading_zeros, cancelling_queries, large_scores)


def _blank(x: Tensor, steps: int) -> Tensor:
    made = x.clone()
    made[:, :steps] = 0.0
    return made


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = subject.small
    for stress in STRESSES:
        shares, slopes = [], []
        for draw in range(subject.draws):
            signals = stress(spec, subject.signals(spec, draw, subject.length))
            if signals is not None:
                shares.append(_share(subject, spec, draw, signals))
                slopes.append(_gradient_share(subject, spec, draw, signals))
        yield from subject.largest(f"{PREFIX}.{stress.__name__}", shares, length=subject.length)
        yield from subject.largest(f"{PREFIX}.gradient.{stress.__name__}", slopes, length=subject.length)


def _share(subject: Subject, spec: MixerSpec, draw: int, signals: Signals) -> float:
    """Share of the outputs that are not finite where those of the definition are."""
    due = definition.outputs(spec, signals, target_len=subject.mixer(spec, draw).target_len).isfinite()
    made = subject.outputs(spec, draw, signals)
    return float((due & ~made.isfinite()).double().mean())


def _gradient_share(subject: Subject, spec: MixerSpec, draw: int, signals: Signals) -> float:
    """Share of the gradients that are not finite, of a form whose outputs are; 0 where an output is not."""
    with torch.inference_mode(False), torch.enable_grad():
        leaves = _leaves(signals)
        y = subject.outputs(spec, draw, leaves)
        if not y.isfinite().all():
            return 0.0
        wanted = [one for one in (leaves.q, leaves.k, leaves.v, leaves.log_decay) if one is not None]
        found = torch.autograd.grad(y.sum(), wanted, allow_unused=True)
    parts = [one for one in found if one is not None]
    wrong = sum(int((~one.isfinite()).sum()) for one in parts)
    return wrong / sum(one.numel() for one in parts)


def _leaves(signals: Signals) -> Signals:
    """Copies outside of inference mode; what tokens make takes gradients."""
    copies = {one.name: getattr(signals, one.name) for one in fields(signals)}
    copies = {name: value.detach().clone() for name, value in copies.items() if value is not None}
    for name in ("q", "k", "v", "log_decay"):
        if name in copies:
            copies[name].requires_grad_()
    return replace(signals, **copies)


probe = Probe(
    quantities={
        **{
            f"{PREFIX}.{stress.__name__}": "share of the outputs that are not finite where the definition's are"
            f" ({stress.__name__.replace('_', ' ')})"
            for stress in STRESSES
        },
        **{
            f"{PREFIX}.gradient.{stress.__name__}": "share of the gradients to q, k, v and log a that are not finite"
            f" while the outputs are ({stress.__name__.replace('_', ' ')})"
            for stress in STRESSES
        },
    },
    mixer=_mixer,
)
