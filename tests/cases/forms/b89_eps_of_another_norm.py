"""B89: the l2 norm is computed as an RMS norm with the same eps, which is then n times as large."""

import math

from torch import Tensor
from torch.nn import functional as F

from designspace.features import Features
from tests.cases.faulty import Faulty


def by_mean_square(features: Features, x: Tensor, gain: Tensor | None) -> Tensor:
    """eps is added to the mean of the squares, not to their sum."""
    unit = F.rms_norm(x, x.shape[-1:], eps=features.eps) / math.sqrt(x.shape[-1])
    return unit * (features.gain if gain is None else gain)


faulty = Faulty(
    record="B89",
    title="the eps of the l2 norm is added to the mean of squares",
    spec="catalogue:gated_deltanet",
    replaces={"workers.feature_maps.normalised": by_mean_square},
    quantity="norm_deviation.k",
    probes=("norms", "forms"),
)
