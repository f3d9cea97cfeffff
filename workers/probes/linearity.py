"""Is the mixer linear in its values, before the output stage? Coefficients never read the values."""

from collections.abc import Iterator
from dataclasses import replace

from torch import Tensor

from designspace.measurement import Measurement
from workers.probe import Probe, Subject, relative_change


def _mixer(subject: Subject) -> Iterator[Measurement]:
    deviations = [_deviation(subject, draw) for draw in range(subject.draws)]
    yield from subject.largest("deviation", deviations, length=subject.length)


def _deviation(subject: Subject, draw: int) -> float:
    """Largest |f(u + 2 w) - f(u) - 2 f(w)| of the form f, over the rms of f(u + 2 w)."""
    signals = subject.signals(subject.small, draw, subject.length)
    u, w = signals.v, signals.v.flip(1)

    def outputs(v: Tensor) -> Tensor:
        return subject.outputs(subject.small, draw, replace(signals, v=v))

    return relative_change(outputs(u + 2.0 * w), outputs(u) + 2.0 * outputs(w))


probe = Probe(
    quantities={"deviation": "largest |f(u + 2 w) - f(u) - 2 f(w)| over values u, w, over the rms of f(u + 2 w)"},
    mixer=_mixer,
)
