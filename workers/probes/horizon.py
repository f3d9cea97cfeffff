"""How fast do stored keys fade at initialisation? Half-lives, and the range that the decay really takes.

Half-lives are those of the time average of log a of each head and channel, at the full number of heads: the grid over
the heads is what spans the declared range.
"""

import math
from collections.abc import Iterator

from torch import Tensor

from designspace.measurement import Measurement
from workers.initial import initial_parameters, normal, raw_std
from workers.probe import Probe, Subject, resized
from workers.realise import raw_shapes, realise

LENGTH = 32


def _mixer(subject: Subject) -> Iterator[Measurement]:
    if subject.spec.decay.is_identity:
        return
    found = [_log_decay(subject, draw) for draw in range(subject.draws)]
    half_lives = [-math.log(2.0) / one.mean((0, 1)).clamp(max=-1e-12) for one in found]
    yield from subject.mean("longest_half_life", [float(one.max()) for one in half_lives], length=LENGTH, unit="steps")
    yield from subject.mean("shortest_half_life", [float(one.min()) for one in half_lives], length=LENGTH, unit="steps")
    yield from subject.smallest("smallest_decay", [math.exp(float(one.min())) for one in found], length=LENGTH)
    yield from subject.largest("largest_decay", [math.exp(float(one.max())) for one in found], length=LENGTH)


def _log_decay(subject: Subject, draw: int) -> Tensor:
    """log a_t of random tokens [1, tokens, num_heads, width]."""
    spec = resized(subject.spec, head_dim=1) or subject.spec
    seed, std = subject.draw_seed(draw), raw_std(spec)
    raw = {
        name: std[name] * normal((1, LENGTH * shape.steps, shape.heads, shape.width), seed=seed, name=name)
        for name, shape in raw_shapes(spec).items()
    }
    found = realise(spec, raw, initial_parameters(spec, seed=seed)).log_decay
    if found is None:
        raise ValueError("the mixer has a decay, but its signals have none.")
    return found


probe = Probe(
    quantities={
        "longest_half_life": "longest half-life of a head and channel, from the time average of log a",
        "shortest_half_life": "shortest half-life of a head and channel, from the time average of log a",
        "smallest_decay": "smallest factor a of any token, head and channel",
        "largest_decay": "largest factor a of any token, head and channel",
    },
    mixer=_mixer,
)
