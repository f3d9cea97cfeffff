"""Do outputs depend on what stands beside them? Padding to the right, and the other sequences of a batch."""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from workers.probe import Probe, Subject, relative_change

PADDING = 5  # tokens, so that padded lengths are not multiples of the plain ones


def _mixer(subject: Subject) -> Iterator[Measurement]:
    if subject.spec.support.mask != "none":
        padded = [_padding(subject, draw) for draw in range(subject.draws)]
        yield from subject.largest("padding_effect", padded, length=subject.length)
    alone = [_batch(subject, draw) for draw in range(subject.draws)]
    yield from subject.largest("batch_effect", alone, length=subject.length)


def _padding(subject: Subject, draw: int) -> float:
    """Largest change of the outputs when zeros follow the sequence, over the rms."""
    mixer, x = subject.mixer(subject.small, draw), subject.tokens(subject.small, draw, subject.length)
    longer = torch.nn.functional.pad(x, (0, 0, 0, PADDING))
    return relative_change(mixer(x), mixer(longer)[:, : x.shape[1]])


def _batch(subject: Subject, draw: int) -> float:
    """Largest change of the outputs of a sequence when it is alone in its batch, over the rms."""
    mixer, x = subject.mixer(subject.small, draw), subject.tokens(subject.small, draw, subject.length)
    alone: Tensor = mixer(x[:1])
    return relative_change(mixer(x)[:1], alone)


probe = Probe(
    quantities={
        "padding_effect": "largest change of an output when zeros follow the sequence, over the rms",
        "batch_effect": "largest change of an output when its sequence is alone in the batch, over the rms",
    },
    mixer=_mixer,
)
