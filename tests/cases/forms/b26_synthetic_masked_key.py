"""B26: masked keys become -1e5 Y / |Y|^2, Y the mean query: in float16 it overflows where queries nearly cancel."""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers import terms
from workers.forms import quadratic
from workers.signals import Signals

FAR = 1e5


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """Keys outside of the window are replaced in place of being masked."""
    mean = signals.q.mean(1, keepdim=True)
    synthetic = (-FAR * mean / mean.square().sum(-1, keepdim=True)).to(torch.float16).to(mean.dtype)
    whole = spec.model_copy(update={"support": spec.support.model_copy(update={"window": None})})
    score = quadratic.scores(whole, signals)
    masked = torch.einsum("bthn,bshn->bhts", terms.scaled_query(spec, signals), synthetic)
    causal = torch.ones(score.shape[-2:], dtype=torch.bool).tril()
    seen = terms.support_mask(spec, score.shape[-2])
    score = torch.where(seen, score, masked).masked_fill(~causal, -torch.inf)
    return (score.softmax(-1) @ signals.v.transpose(1, 2)).transpose(1, 2)


faulty = Faulty(
    record="B26",
    title="a synthetic key in place of a mask divides by the squared mean query",
    spec={
        "mixer": {
            "readout": {"kind": "exponential"},
            "normalization": {"kind": "sum"},
            "rotation": {"source": "constant"},
            "support": {"window": 8},
        }
    },
    outputs=outputs,
    quantity="nonfinite.cancelling_queries",
    probes=("finite",),
    names=("CD101", "CD703"),
)
