"""Which way does the additive score path lean? The score of a silent query, of the farthest key against the nearest."""

from collections.abc import Iterator
from dataclasses import replace

from designspace.measurement import Measurement
from workers import coefficients as definition
from workers.probe import Probe, Subject

SHORTEST = 3  # tokens; fewer have no two earlier keys


def _mixer(subject: Subject) -> Iterator[Measurement]:
    if subject.spec.shear.is_identity or subject.length < SHORTEST:
        return
    leans = [_lean(subject, draw) for draw in range(subject.draws)]
    yield from subject.largest("far_key_bias", leans, length=subject.length, unit="score per step")


def _lean(subject: Subject, draw: int) -> float:
    """Score of the first key less that of the key before the last, over the steps between them; the largest head."""
    spec = subject.small
    signals = subject.signals(spec, draw, subject.length)
    score = definition.scores(spec, replace(signals, q=0.0 * signals.q))[:, :, -1]
    steps = subject.length - 2
    return float((score[..., 0] - score[..., steps * spec.erase.rank]).mean(0).max()) / steps


probe = Probe(
    quantities={"far_key_bias": "score added to a key for each step that it is farther away, largest of the heads"},
    mixer=_mixer,
)
