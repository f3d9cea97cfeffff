"""B28: the flag that has the kernel normalise queries and keys is ignored on one path."""

from dataclasses import replace

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers.forms import recurrent
from workers.signals import Signals


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """Keys keep the length sqrt(n) that random tokens give them, a little different from token to token."""
    steps = torch.arange(signals.k.shape[1], dtype=signals.k.dtype)
    length = spec.key_dim**0.5 * (1.0 + 0.2 * torch.sin(steps))[None, :, None, None]
    return recurrent.apply(spec, replace(signals, k=length * signals.k))


faulty = Faulty(
    record="B28",
    title="the recurrent path leaves its keys unnormalised",
    spec="catalogue:gated_deltanet",
    outputs=outputs,
    quantity="differs_from_quadratic",
    probes=("forms",),
)
