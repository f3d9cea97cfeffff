"""B37: decays of a chunk are counted from its start, so that keys carry a positive exponent, which overflows."""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers import rows, terms
from workers.signals import Signals

CHUNK = 24  # one chunk holds all tokens that are probed


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """q exp(c_i) . k exp(-c_j), the factored product of chunked kernels: exact, and exp(-c_j) has no bound."""
    total = terms.needed(signals.log_decay, "log_decay").transpose(1, 2).cumsum(-2)
    query = terms.scaled_query(spec, signals).transpose(1, 2) * total.exp()
    key = terms.written_key(spec, signals).transpose(1, 2) * (-total).exp()
    score = (query @ key.mT).masked_fill(torch.ones(CHUNK, CHUNK, dtype=torch.bool).triu(1), 0.0)
    return rows.outputs_of_sums(spec, signals, (score @ signals.v.transpose(1, 2)).transpose(1, 2), shift=None)


faulty = Faulty(
    record="B37",
    title="cumulative decays of a chunk are divided by",
    spec="catalogue:gla",
    outputs=outputs,
    quantity="nonfinite.strong_decay",
    probes=("finite", "forms"),
)
