"""B12: the norm of queries and keys is configured and never applied."""

from torch import Tensor

from designspace.features import Features
from tests.cases.faulty import Faulty


def unnormalised(features: Features, x: Tensor, gain: Tensor | None) -> Tensor:
    """The gain without the norm."""
    return x * (features.gain if gain is None else gain)


faulty = Faulty(
    record="B12",
    title="the configured norm of queries and keys is not applied",
    spec="catalogue:softmax_qknorm",
    replaces={"workers.feature_maps.normalised": unnormalised},
    quantity="norm_deviation.k",
    probes=("norms", "forms"),
    names=("CD101",),
)
