"""The rotation part of A_t: |eigenvalue| = 1. RoPE is this with an exponential readout (arXiv 2104.09864)."""

import math
from typing import Annotated, Literal

from pydantic import Field

from designspace.spec import Dtype, Positive, Spec


class Rotation(Spec):
    """A_t turns pairs of key channels by an angle w per step.

    `constant`: w_m = theta^(-2m / rotated channels); `learned`: one angle per head and pair; `input`: computed from the
    token. `fraction` of the channels rotate, the first ones. Pairing `half` joins channel m and m + half of the rotated
    channels, `interleaved` 2m and 2m + 1. `phase_dtype` is execution: it does not change the function.
    """

    source: Literal["none", "constant", "learned", "input"] = "none"
    theta: Positive = 10000.0
    fraction: Annotated[float, Field(ge=0, le=1)] = 1.0
    pairing: Literal["half", "interleaved"] = "half"
    phase_dtype: Dtype = "float32"

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
        return tuple(self.theta ** (-m / pairs) for m in range(pairs))
