"""The rotation part of A_t: |eigenvalue| = 1. RoPE is this with an exponential readout (arXiv 2104.09864)."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from designspace.angles import AngleScaling
from designspace.spec import Dtype, Positive, Range, Spec, check_range, invalid


class Rotation(Spec):
    """A_t turns pairs of key channels by an angle w per step.

    `constant`: w_m = theta^(-2m / rotated channels); `learned`: one angle per head and pair, which starts within
    `initial` (radians per step; evenly in the logarithm over heads and pairs, evenly where it starts at 0; the constant
    angles where none is given); `input`: computed from the token, and times the step dt where `scaling.gate` is `dt`.
    `fraction` of the channels rotate, the first ones. Pairing `half` joins channel m and m + half of the rotated
    channels, `interleaved` 2m and 2m + 1. `scaling` stretches constant angles; `attention_factor` multiplies the
    rotating channels of q and of k (YaRN: 0.1 ln(factor) + 1), so the rotated part of a score takes its square.
    `phase_dtype` is execution: it does not change the function.
    """

    source: Literal["none", "constant", "learned", "input"] = "none"
    theta: Positive = 10000.0
    fraction: Annotated[float, Field(ge=0, le=1)] = 1.0
    pairing: Literal["half", "interleaved"] = "half"
    scaling: AngleScaling | None = None
    attention_factor: Positive = 1.0
    initial: Range | None = None
    phase_dtype: Dtype = "float32"

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range("initial", self.initial)
        if self.initial is not None and self.source != "learned":
            raise invalid("initial", f"`initial` is where learned angles start; it has no meaning with {self.source}.")
        if self.scaling is not None and self.source != "constant":
            raise invalid("scaling", f"`scaling` stretches constant angles; it has no meaning with {self.source}.")
        if self.scaling is not None and self.scaling.kind == "yarn" and self.theta <= 1:
            raise invalid("theta", f"`scaling.kind: yarn` needs theta > 1, got {self.theta:g}.")
        return self

    @property
    def is_identity(self) -> bool:
        """No channel rotates."""
        return self.source == "none" or self.fraction == 0

    def pairs(self, state_dim: int) -> int:
        """Number of rotating pairs among `state_dim` channels."""
        return 0 if self.is_identity else math.floor(self.fraction * state_dim / 2 + 1e-9)

    def angles(self, state_dim: int) -> tuple[float, ...]:
        """Constant angle per step of each pair, in radians."""
        pairs = self.pairs(state_dim)
        if self.scaling is not None:
            return self.scaling.angles(self.theta, pairs, state_dim)
        return tuple(self.theta ** (-m / pairs) for m in range(pairs))
