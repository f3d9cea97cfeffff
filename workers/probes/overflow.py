"""How many tokens can each number format take? (P6.4, numerics) A float64 run is held against the largest number.

Looked at are the numbers that a form has to hold: the sums over phi where nothing subtracts a maximum, and the outputs.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.spec import Dtype
from workers import rows
from workers.model import DTYPES
from workers.probe import Probe, Subject

LENGTH = 128
FORMATS: tuple[Dtype, ...] = ("float16", "bfloat16", "float32")


def _mixer(subject: Subject) -> Iterator[Measurement]:
    length = subject.at_most(LENGTH)
    sizes = [_sizes(subject, draw, length) for draw in range(subject.draws)]
    for dtype in FORMATS:
        limit = torch.finfo(DTYPES[dtype]).max
        lengths = [_finite_length(one, limit) for one in sizes]
        yield from subject.smallest(f"finite_length_{dtype}", lengths, length=length, unit="tokens")


def _sizes(subject: Subject, draw: int, length: int) -> Tensor:
    """Largest number that each query has to hold [seq_len]."""
    spec = subject.scaled
    signals = subject.signals(spec, draw, length)
    largest = _amplitude(subject.outputs(spec, draw, signals))
    if rows.shift_cancels(spec) and spec.execution.stabiliser != "none":
        return largest
    bare = spec.model_copy(
        update={"normalization": spec.normalization.model_copy(update={"kind": "none", "factor": 1.0})}
    )
    sums = subject.outputs(spec, draw, replace(signals, v=torch.ones_like(signals.v)), of=_unstabilised(bare))
    return torch.maximum(largest, _amplitude(sums))


def _unstabilised(spec: MixerSpec) -> MixerSpec:
    return spec.model_copy(update={"execution": spec.execution.model_copy(update={"stabiliser": "none"})})


def _amplitude(y: Tensor) -> Tensor:
    """Largest |y| of each query; 0 / 0 of an empty row is another finding."""
    return y.abs().nan_to_num(nan=0.0, posinf=torch.inf).amax((0, 2, 3))


def _finite_length(sizes: Tensor, limit: float) -> float:
    """Queries before the first whose numbers overflow."""
    over = torch.nonzero(sizes > limit)
    return float(over[0]) if len(over) else float(len(sizes))


probe = Probe(
    quantities={
        f"finite_length_{dtype}": f"tokens before a number overflows in {dtype}, of those probed" for dtype in FORMATS
    },
    mixer=_mixer,
)
