"""How often is a coefficient nearly zero? (P2) At scores N(0, s^2) through the form, and as the mixer starts."""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.execution import Execution
from designspace.features import Features
from designspace.heads import Heads
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from workers import terms
from workers.feature_maps import mapped
from workers.initial import normal
from workers.probe import TINY, Probe, Subject
from workers.signals import Signals

SPREADS = (1, 4, 16)  # standard deviations of the scores
SCORES = 16_384  # nodes of the normal distribution
REACH = 20.0  # standard deviations: exp(z) at s = 16 has its mean far out
NEAR_ZERO = 0.01  # of the mean |phi|
LEAST_FLOOR = 1e-100  # exp and sigmoid fall to 1e-139 over the scores looked at
CHANNELS = 2  # of the key of a single score
ONE_HEAD = Heads(num_heads=1, state_dim=CHANNELS, head_dim=1)


def _mixer(subject: Subject) -> Iterator[Measurement]:
    readout = _readout_alone(subject.spec)
    for spread in SPREADS:
        shares = [_fraction(subject, readout, draw, float(spread)) for draw in range(subject.draws)]
        yield from subject.mean(f"near_zero_fraction_at_{spread}", shares, length=1)
    yield from _values(subject, readout)
    starts = [_start(subject, draw) for draw in range(subject.draws)]
    yield from subject.mean("alpha_near_zero", starts, length=subject.length)


def _readout_alone(spec: MixerSpec) -> MixerSpec:
    """phi on one score: nothing moves the key, nothing divides the row."""
    features = Features(map="taylor2") if _expands_score(spec) else Features()
    return MixerSpec(
        readout=spec.readout,
        features=features,
        scaling=Scaling(base=1.0),
        heads=ONE_HEAD,
        execution=Execution(stabiliser="none"),
    )


def _expands_score(spec: MixerSpec) -> bool:
    """taylor2 is 1 + z + z^2 / 2 of the score (equivalence 3); other maps are not part of phi."""
    return spec.features.map == "taylor2" and spec.features.norm_keeps_signs


def _fraction(subject: Subject, spec: MixerSpec, draw: int, spread: float) -> float:
    """The near-zero fraction of phi for z ~ N(0, spread^2), on nodes that each draw shifts by a random part of a cell:
    means of exp(z) do not settle over random samples.
    """
    shift = float(normal((1,), seed=subject.draw_seed(draw), name=f"scores {spread}").sigmoid())
    x = (torch.arange(SCORES, dtype=torch.float64) + shift) / SCORES * 2.0 * REACH - REACH
    weight = torch.exp(-0.5 * x * x)
    return _share(_phi(subject, spec, draw, spread * x), weight / weight.sum())


def _phi(subject: Subject, spec: MixerSpec, draw: int, z: Tensor) -> Tensor:
    """phi(z) of the form: sequences of one token with the value 1."""
    q, k = torch.zeros(2, len(z), 1, 1, CHANNELS, dtype=torch.float64).unbind(0)
    root = CHANNELS**0.5 if spec.features.map == "taylor2" else 1.0  # the map divides the product by sqrt(n)
    q[..., 0], k[..., 0] = root * z[:, None, None], 1.0
    if spec.features.map == "taylor2":
        q, k = mapped(spec.features, q), mapped(spec.features, k)
    form = subject.mixer(subject.small, draw).form
    return form.apply(spec, Signals(q=q, k=k, v=torch.ones(len(z), 1, 1, 1, dtype=torch.float64))).flatten()


def _values(subject: Subject, spec: MixerSpec) -> Iterator[Measurement]:
    """phi itself: its floor, its ends, its value at 0, and its usual size."""
    x = torch.linspace(-REACH, REACH, SCORES + 1, dtype=torch.float64)
    value = _phi(subject, spec, 0, SPREADS[-1] * x)
    size = value.abs()
    floor = float(size.min())
    keeps_sign = not (value.min() < 0 < value.max()) and floor > LEAST_FLOOR
    weight = torch.exp(-0.5 * x * x)
    usual = float((weight * _phi(subject, spec, 0, x).abs()).sum() / weight.sum())
    yield from subject.smallest("readout_floor", [floor if keeps_sign else 0.0])
    yield from subject.smallest("readout_ends", [float(torch.minimum(size[0], size[-1]))])
    yield from subject.largest("readout_at_zero", [float(size[len(size) // 2])])
    yield from subject.largest("readout_size", [usual])


def _share(values: Tensor, weight: Tensor) -> float:
    """Share of |values| at most 0.01 of their mean, in units of the largest so that none overflows."""
    size = values.abs()
    size = size / size.max().clamp(min=TINY)
    return float(weight[size <= NEAR_ZERO * (weight * size).sum()].sum())


def _start(subject: Subject, draw: int) -> float:
    """The share among the coefficients within the support, as the mixer starts."""
    spec = subject.small
    signals = subject.signals(spec, draw, subject.length)
    alpha = subject.coefficients(spec, draw, signals)[..., terms.support_mask(spec, subject.length)]
    return _share(alpha, torch.full_like(alpha, 1.0 / alpha.numel()))


probe = Probe(
    quantities={
        **{
            f"near_zero_fraction_at_{spread}": f"share of |phi(z)| <= 0.01 E|phi(z)| for scores z ~ N(0, {spread}^2)"
            for spread in SPREADS
        },
        "readout_floor": "smallest |phi| over scores from -320 to 320; 0 where it comes to 0 or changes its sign",
        "readout_ends": "smaller |phi| of the scores -320 and 320",
        "readout_at_zero": "|phi| of the score 0",
        "readout_size": "mean |phi| of scores z ~ N(0, 1)",
        "alpha_near_zero": "share of |alpha| <= 0.01 of its mean within the support, at initialisation",
    },
    mixer=_mixer,
)
