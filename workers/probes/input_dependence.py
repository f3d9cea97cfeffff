"""Do the coefficients depend on the tokens at all? 0 is a time-invariant mixer with static queries and keys (P2)."""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from workers.probe import TINY, Probe, Subject, relative_change


def _mixer(subject: Subject) -> Iterator[Measurement]:
    pairs = [_pair(subject, draw) for draw in range(subject.draws)]
    changes = [relative_change(first, second) for first, second in pairs]
    yield from subject.smallest("alpha_change", changes, length=subject.length)
    shapes = [relative_change(_unit_rows(first), _unit_rows(second)) for first, second in pairs]
    yield from subject.smallest("row_shape_change", shapes, length=subject.length)


def _pair(subject: Subject, draw: int) -> tuple[Tensor, Tensor]:
    """The coefficients of two sets of tokens."""
    spec = subject.small
    mixer = subject.mixer(spec, draw)
    first, second = (
        subject.coefficients(spec, draw, mixer.project(subject.tokens(spec, draw, subject.length, name=name))[0])
        for name in ("x", "other")
    )
    return first, second


def _unit_rows(alpha: Tensor) -> Tensor:
    """Rows of unit length: without what eta_i, or anything else of query i alone, multiplies them with."""
    return torch.nn.functional.normalize(alpha, dim=-1, eps=TINY)


probe = Probe(
    quantities={
        "alpha_change": "largest change of a coefficient when all tokens are replaced, over their rms",
        "row_shape_change": "the same for rows of unit length: a factor of the whole row does not count",
    },
    mixer=_mixer,
)
