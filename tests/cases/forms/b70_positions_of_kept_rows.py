"""B70: after cache eviction the kept rows are counted as positions: all late keys stand at the end of the window."""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers import rows, terms
from workers.signals import Signals
from workers.transition import phases, rotate

WINDOW = 8


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """Each token is turned by the number of rows that the cache holds when it comes."""
    position = torch.arange(signals.q.shape[1]).clamp(max=WINDOW - 1)
    phase = phases(terms.needed(signals.angle, "angle"))[:, position]
    cosine, sine = phase.cos(), phase.sin()
    query = rotate(spec, terms.scaled_query(spec, signals), cosine, sine)
    score = rows.masked(spec, torch.einsum("bthn,bshn->bhts", query, rotate(spec, signals.k, cosine, sine)))
    return (score.softmax(-1) @ signals.v.transpose(1, 2)).transpose(1, 2)


faulty = Faulty(
    record="B70",
    title="rows of a rotating cache are counted as positions",
    spec={
        "mixer": {
            "readout": {"kind": "exponential"},
            "normalization": {"kind": "sum"},
            "rotation": {"source": "constant"},
            "support": {"window": WINDOW},
        },
    },
    outputs=outputs,
    quantity="differs_from_definition",
    probes=("forms", "support", "row_sums"),
    names=("CD101", "CD703"),
)
