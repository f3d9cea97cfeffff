"""B38: exp(c_i - c_j) is taken on the masked half as well: the outputs are right, and the gradients are inf * 0."""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers import rows, terms
from workers.signals import Signals


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """The mask follows the exponential."""
    total = terms.needed(signals.log_decay, "log_decay").squeeze(-1).transpose(1, 2).cumsum(-1)
    kept = (total[..., :, None] - total[..., None, :]).exp()
    kept = torch.where(torch.ones(kept.shape[-2:], dtype=torch.bool).tril(), kept, 0.0)
    product = torch.einsum("bthn,bshn->bhts", terms.scaled_query(spec, signals), terms.written_key(spec, signals))
    summed = (product * kept) @ signals.v.transpose(1, 2)
    return rows.outputs_of_sums(spec, signals, summed.transpose(1, 2), shift=None)


faulty = Faulty(
    record="B38",
    title="the mask follows the exponential, so that gradients are NaN",
    spec="catalogue:mamba2",
    outputs=outputs,
    quantity="nonfinite.gradient.strong_decay",
    probes=("finite", "forms"),
)
