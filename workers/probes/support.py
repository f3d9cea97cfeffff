"""Does the form keep to its window or chunk? Keys and values before it are replaced and must not matter.

Windows and chunks beyond 8 tokens are cut to 8: nothing would lie outside in the sequences probed.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch

from designspace.measurement import Measurement
from workers import terms
from workers.probe import Probe, Subject, relative_change
from workers.probes.flags import narrowed


def _mixer(subject: Subject) -> Iterator[Measurement]:
    support = subject.spec.support
    if support.mask == "none" or (support.window is None and support.chunk is None):
        return
    effects = [one for draw in range(subject.draws) if (one := _effect(subject, draw)) is not None]
    yield from subject.largest("outside_support", effects, length=subject.length)


def _effect(subject: Subject, draw: int) -> float | None:
    """Change of the last output when what stands before its support is replaced, over its rms; None if nothing does."""
    spec = narrowed(subject.small)
    signals = subject.signals(spec, draw, subject.length)
    seen = torch.nonzero(terms.support_mask(spec, subject.length)[-1])
    first = int(seen[0]) if len(seen) else 0
    if first == 0:
        return None
    k, v = signals.k.clone(), signals.v.clone()
    k[:, :first], v[:, :first] = k[:, :first].flip(0) * 1.5, -2.0 * v[:, :first]
    before = subject.outputs(spec, draw, signals)
    after = subject.outputs(spec, draw, replace(signals, k=k, v=v))
    return relative_change(before[:, -1], after[:, -1])


probe = Probe(
    quantities={
        "outside_support": "largest change of the last output when keys and values outside its window or chunk change"
    },
    mixer=_mixer,
)
