"""B49: channels are paired in halves and the frequencies stand in adjacent order: scores depend on more than i - j."""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers import rows, terms
from workers.signals import Signals
from workers.transition import phases


def turned(x: Tensor, phase: Tensor) -> Tensor:
    """x cos + rotate_half(x) sin, with each phase written to two neighbours."""
    first, second = x.chunk(2, dim=-1)
    angle = phase.repeat_interleave(2, dim=-1)
    return x * angle.cos() + torch.cat((-second, first), dim=-1) * angle.sin()


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """Softmax over the scores of queries and keys that turn by two conventions."""
    phase = phases(terms.needed(signals.angle, "angle"))
    query, key = turned(terms.scaled_query(spec, signals), phase), turned(signals.k, phase)
    score = rows.masked(spec, torch.einsum("bthn,bshn->bhts", query, key))
    return (score.softmax(-1) @ signals.v.transpose(1, 2)).transpose(1, 2)


faulty = Faulty(
    record="B49",
    title="rotary pairs by halves, frequencies by neighbours",
    spec="catalogue:softmax_rope",
    outputs=outputs,
    quantity="differs_from_definition",
    probes=("forms", "row_sums"),
    names=("CD101",),
)
