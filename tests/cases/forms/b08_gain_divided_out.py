"""B08: with l2-normalised queries and keys the fused path divides by the gain and by sqrt(n): attention is uniform."""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers.forms import quadratic
from workers.signals import Signals

GAIN = 10.0


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """The base 10 of the design becomes 1 / (10 sqrt(n))."""
    base = 1.0 / (GAIN * spec.key_dim**0.5)
    return quadratic.apply(spec.model_copy(update={"scaling": spec.scaling.model_copy(update={"base": base})}), signals)


faulty = Faulty(
    record="B08",
    title="the gain of normalised queries and keys divides the scores",
    spec={
        "mixer": {
            "readout": {"kind": "exponential"},
            "normalization": {"kind": "sum"},
            "features": {"norm": "l2"},
            "scaling": {"base": GAIN},
            "rotation": {"source": "constant"},
        }
    },
    outputs=outputs,
    quantity="differs_from_definition",
    probes=("forms", "norms"),
    names=("CD101",),
)
