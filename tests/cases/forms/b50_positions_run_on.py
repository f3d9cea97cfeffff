"""B50: packed documents reset their positions, and the mixer counts on: rows are divided by too large a number."""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers.forms import quadratic
from workers.signals import Signals

DOCUMENT = 4  # tokens


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """A row is divided by the tokens since the start of the pack; a rotation by these positions does no harm."""
    position = torch.arange(signals.q.shape[1], dtype=signals.q.dtype)[None, :, None, None]
    return quadratic.apply(spec, signals) * (position % DOCUMENT + 1.0) / (position + 1.0)


faulty = Faulty(
    record="B50",
    title="positions of packed documents are not reset",
    spec={
        "mixer": {
            "readout": {"kind": "relu"},
            "normalization": {"kind": "length"},
            "rotation": {"source": "constant"},
            "support": {"chunk": DOCUMENT},
        }
    },
    outputs=outputs,
    quantity="row_sum_deviation",
    probes=("row_sums", "forms"),
    names=("CD101", "CD703"),
)
