"""Scaled angles of a rotary embedding: how a model that was trained at one length is stretched to a longer one.

Source: transformers 5.24, modeling_rope_utils; YaRN arXiv 2309.00071;
LongRoPE arXiv 2402.13753; Llama 3 arXiv 2407.21783.
"""

import math
from typing import Annotated, Literal, Self, assert_never

from pydantic import Field, model_validator

from designspace.spec import Count, Positive, Spec, invalid

MAX_FACTORS = 4096
RAMP_WIDTH = 0.001  # least width of YaRN's ramp, in pairs


class AngleScaling(Spec):
    """What happens to the angles w_m = theta^(-2m / width) of the rotating pairs.

    `linear`: w / factor. `yarn`: w / factor for pairs that turn less than `beta_slow` times within `original_length`,
    w for those above `beta_fast`, a ramp between (its ends rounded to whole pairs if `truncate`). `llama3`: the same by
    wavelength, between original_length / `low` and original_length / `high`. `longrope`: w over one factor per pair,
    `short_factors` up to `original_length` and `long_factors` beyond. `dynamic`: theta grows with sequences longer than
    `original_length`. `proportional`: the exponents count all key channels, not the rotating ones only.

    Angles are those of sequences up to `original_length`: `dynamic` changes nothing there, `longrope` takes the short
    factors.
    """

    kind: Literal["linear", "dynamic", "yarn", "llama3", "longrope", "proportional"]
    factor: Positive = 1.0
    original_length: Count | None = None
    beta_fast: Positive = 32.0
    beta_slow: Positive = 1.0
    truncate: bool = True
    low: Positive = 1.0
    high: Positive = 4.0
    short_factors: Annotated[tuple[Positive, ...], Field(max_length=MAX_FACTORS)] | None = None
    long_factors: Annotated[tuple[Positive, ...], Field(max_length=MAX_FACTORS)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind in ("dynamic", "yarn", "llama3", "longrope") and self.original_length is None:
            raise invalid("original_length", f"`kind: {self.kind}` needs `original_length`, the length of training.")
        if self.kind == "llama3" and self.low > self.high:
            raise invalid("low", f"`low` must not be larger than `high`, got {self.low:g} and {self.high:g}.")
        if (self.kind == "longrope") != (self.short_factors is not None):
            raise invalid("short_factors", "`short_factors` (one per pair) and `kind: longrope` go together.")
        if (self.short_factors is None) != (self.long_factors is None):
            raise invalid("long_factors", "`short_factors` and `long_factors` go together.")
        return self

    def angles(self, theta: float, pairs: int, width: int) -> tuple[float, ...]:
        """Angle per step of each of `pairs` rotating pairs among `width` key channels, in radians."""
        if self.kind == "proportional":
            return tuple(theta ** (-2.0 * m / width) / self.factor for m in range(pairs))
        plain = tuple(theta ** (-m / pairs) for m in range(pairs))
        match self.kind:
            case "linear":
                return tuple(angle / self.factor for angle in plain)
            case "dynamic":
                return plain
            case "yarn":
                return tuple(map(self._blend, plain, _ramp(self, theta, pairs)))
            case "llama3":
                return tuple(self._blend(angle, 1.0 - self._smoothness(angle)) for angle in plain)
            case "longrope":
                return tuple(angle / factor for angle, factor in zip(plain, self.short_factors or (), strict=True))
            case _:
                assert_never(self.kind)

    def _blend(self, angle: float, share: float) -> float:
        """`share` of the angle divided by the factor, the rest as it is."""
        return angle * (1.0 - share) + angle / self.factor * share

    def _smoothness(self, angle: float) -> float:
        """0 for wavelengths above original_length / low, 1 below original_length / high, linear in between; a step
        where the two are one (Llama 4 Scout).
        """
        turns = (self.original_length or 1) * angle / (2.0 * math.pi)
        if self.low == self.high:
            return float(turns >= self.low)
        return min(max((turns - self.low) / (self.high - self.low), 0.0), 1.0)


def _ramp(scaling: AngleScaling, theta: float, pairs: int) -> tuple[float, ...]:
    """Share of interpolation of each pair: 0 for fast pairs, 1 for slow ones (YaRN, section 3.2)."""
    ends = [_pair_with_turns(scaling, theta, pairs, turns) for turns in (scaling.beta_fast, scaling.beta_slow)]
    if scaling.truncate:
        ends = [float(math.floor(ends[0])), float(math.ceil(ends[1]))]
    first, last = max(ends[0], 0.0), min(ends[1], 2.0 * pairs - 1.0)
    width = last - first if last != first else RAMP_WIDTH
    return tuple(min(max((m - first) / width, 0.0), 1.0) for m in range(pairs))


def _pair_with_turns(scaling: AngleScaling, theta: float, pairs: int, turns: float) -> float:
    """Index m of the pair that turns `turns` times within the original length."""
    return pairs * math.log((scaling.original_length or 1) / (2.0 * math.pi * turns)) / math.log(theta)
