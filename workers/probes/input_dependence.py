"""Do the coefficients depend on the tokens at all? 0 is a time-invariant mixer with static queries and keys (P2)."""

from collections.abc import Iterator

from designspace.measurement import Measurement
from workers.probe import Probe, Subject, relative_change


def _mixer(subject: Subject) -> Iterator[Measurement]:
    changes = [_change(subject, draw) for draw in range(subject.draws)]
    yield from subject.smallest("alpha_change", changes, length=subject.length)


def _change(subject: Subject, draw: int) -> float:
    """Largest change of a coefficient when every token is replaced, over the rms of the coefficients."""
    spec = subject.small
    mixer = subject.mixer(spec, draw)
    first, second = (
        subject.coefficients(spec, draw, mixer.project(subject.tokens(spec, draw, subject.length, name=name))[0])
        for name in ("x", "other")
    )
    return relative_change(first, second)


probe = Probe(
    quantities={"alpha_change": "largest change of a coefficient when all tokens are replaced, over their rms"},
    mixer=_mixer,
)
