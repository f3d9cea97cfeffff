"""Do the outputs change with the length that the target declares, for the same tokens?"""

from collections.abc import Iterator

from designspace.measurement import Measurement
from workers.probe import Probe, Subject, relative_change

LONGER = 4  # times the tokens


def _mixer(subject: Subject) -> Iterator[Measurement]:
    changes = [_change(subject, draw) for draw in range(subject.draws)]
    yield from subject.largest("total_length_effect", changes, length=subject.length)


def _change(subject: Subject, draw: int) -> float:
    """Largest change of an output between two target lengths, over the rms of the outputs."""
    spec, length = subject.small, subject.length
    signals, form = subject.signals(spec, draw, length), subject.mixer(spec, draw).form
    near, far = (form.apply(spec, signals, target_len=one) for one in (length, LONGER * length))
    return relative_change(near, far)


probe = Probe(
    quantities={"total_length_effect": "largest change of an output when `target.seq_len` alone changes, over the rms"},
    mixer=_mixer,
)
