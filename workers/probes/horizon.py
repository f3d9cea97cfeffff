"""How fast do stored keys fade at initialisation? Half-lives, and the range that the decay really takes.

Half-lives are those of the median factor of each head and channel over the tokens, at the full number of heads: the
grid over the heads is what spans the declared range. What a long product keeps follows the mean of log a instead, which
the spread over the tokens makes shorter.
"""

import math
from collections.abc import Iterator

from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers.initial import initial_parameters, normal, raw_std
from workers.probe import Probe, Subject, resized
from workers.realise import raw_shapes, realise

LENGTH = 128  # tokens at least: the median of few lifts the 99 % quantile over many channels
MOST = 2048  # tokens at most
NUMBERS = 2**22  # that are drawn for one measurement, where these tokens allow it
TOP = 0.99  # quantile over heads and channels: the largest of thousands would measure the noise over the tokens
LEAST = 1e-12  # of -log a; a factor of 1 has no half-life


def _mixer(subject: Subject) -> Iterator[Measurement]:
    if subject.spec.decay.is_identity:
        return
    found = [_log_decay(subject, draw) for draw in range(subject.draws)]
    tokens = found[0].shape[1]
    half_lives = [_half_life(one.flatten(0, 1).quantile(0.5, dim=0)) for one in found]
    averages = [_half_life(one.mean((0, 1))) for one in found]
    for quantity, values, share in (
        ("longest_half_life", half_lives, TOP),
        ("shortest_half_life", half_lives, 1.0 - TOP),
        ("mean_half_life", averages, TOP),
    ):
        reported = [_quantile(one, share) for one in values]
        yield from subject.mean(quantity, reported, length=tokens, unit="steps")
    yield from subject.smallest("smallest_decay", [math.exp(float(one.min())) for one in found], length=tokens)
    yield from subject.largest("largest_decay", [math.exp(float(one.max())) for one in found], length=tokens)


def _quantile(values: Tensor, share: float) -> float:
    """The value in place `share` of the sorted ones, between two by their distance."""
    ordered = values.flatten().sort().values
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def _tokens(spec: MixerSpec) -> int:
    channels = sum(shape.channels for shape in raw_shapes(spec).values())
    return min(max(NUMBERS // max(channels, 1), LENGTH), MOST)


def _half_life(log_decay: Tensor) -> Tensor:
    return -math.log(2.0) / log_decay.clamp(max=-LEAST)


def _log_decay(subject: Subject, draw: int) -> Tensor:
    """log a_t of random tokens [1, tokens, num_heads, width]."""
    spec = resized(subject.spec, head_dim=1) or subject.spec
    seed, std = subject.draw_seed(draw), raw_std(spec)
    tokens = _tokens(spec)
    raw = {
        name: std[name] * normal((1, tokens * shape.steps, shape.heads, shape.width), seed=seed, name=name)
        for name, shape in raw_shapes(spec).items()
    }
    found = realise(spec, raw, initial_parameters(spec, seed=seed)).log_decay
    if found is None:
        raise ValueError("the mixer has a decay, but its signals have none.")
    return found


probe = Probe(
    quantities={
        "longest_half_life": "99 % quantile over heads and channels of the half-life of the median factor",
        "shortest_half_life": "1 % quantile of the same",
        "mean_half_life": "99 % quantile of the half-life of the mean log a: what a long product keeps",
        "smallest_decay": "smallest factor a of any token, head and channel",
        "largest_decay": "largest factor a of any token, head and channel",
    },
    mixer=_mixer,
)
