"""B22: keys of padding are masked with -inf, so that a padding token in front sees no key at all: NaN."""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers import rows
from workers.forms import quadratic
from workers.signals import Signals


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """Keys of zero are padding; the mask is -inf, not a large finite number."""
    score = rows.masked(spec, quadratic.scores(spec, signals))
    padding = (signals.k == 0.0).all(-1).transpose(1, 2)[:, :, None]
    return (score.masked_fill(padding, -torch.inf).softmax(-1) @ signals.v.transpose(1, 2)).transpose(1, 2)


faulty = Faulty(
    record="B22",
    title="a row whose keys are all padding is NaN",
    spec="catalogue:softmax_rope",
    outputs=outputs,
    quantity="nonfinite.leading_zeros",
    probes=("finite",),
    names=("CD101",),
)
