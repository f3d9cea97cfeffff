"""The limits that rules compare with: per rule, with unit and range; a settings file may move each of them.

Limits that are mathematics (an eigenvalue of 1, the largest float16) stand in the rules and cannot be moved.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field

from designspace.errors import SpecError
from designspace.spec import Count, Range, Spec


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Limits(Spec):
    """A table of a settings file: its keys are written with dashes."""

    model_config = ConfigDict(alias_generator=_kebab)


Fraction = Annotated[float, Field(gt=0.0, le=1.0)]
Above = Annotated[float, Field(gt=0.0, le=1e6)]


class ScoreScale(Limits):
    """CD501."""

    band: Range = Field((0.5, 2.0), description="score std that passes", json_schema_extra={"unit": "score std"})
    wide_band: Range = Field(
        (0.25, 4.0), description="score std outside of it is an error", json_schema_extra={"unit": "score std"}
    )


class FragileZeroSet(Limits):
    """CD201 and CD202, which share what counts as suppression."""

    near_zero: Fraction = Field(
        0.01, description="|phi| up to this share of E|phi| is nearly zero", json_schema_extra={"unit": "of E|phi|"}
    )
    robust_from: Fraction = Field(
        0.3, description="near-zero fraction at score std 16 that is robust", json_schema_extra={"unit": "of scores"}
    )
    fragile_below: Fraction = Field(
        0.02,
        description="near-zero fraction at score std 1 and 4 that is fragile",
        json_schema_extra={"unit": "of scores"},
    )


class NumeratorGrows(Limits):
    """CD601."""

    raised: Above = Field(
        4.0, description="output gain that is a warning", json_schema_extra={"unit": "output rms per value rms"}
    )
    large: Above = Field(
        16.0, description="output gain that is an error", json_schema_extra={"unit": "output rms per value rms"}
    )


class ShortHorizon(Limits):
    """CD701."""

    wanted_fraction: Fraction = Field(
        0.125,
        description="part of the target length that the longest half-life should reach",
        json_schema_extra={"unit": "of seq_len"},
    )
    vanishing: Above = Field(
        2.0, description="longest half-life that counts as no memory", json_schema_extra={"unit": "steps"}
    )


class RecallCapacity(Limits):
    """CD702."""

    pairs_per_row: Above = Field(  # simulated accuracy 0.95, 0.71, 0.37 at 32, 64, 128 pairs for 16 rows
        2.0, description="pairs that additive writes keep apart", json_schema_extra={"unit": "pairs per state row"}
    )


class RankCollapse(Limits):
    """CD704."""

    depth: Count = Field(
        4, description="averaging layers in a row without a skip", json_schema_extra={"unit": "layers"}
    )


class SteepSquareRootGate(Limits):
    """CD803."""

    slope: Above = Field(  # the clip of the published RG-LRU code
        1000.0, description="largest |db/da| of b = sqrt(1 - a^2)", json_schema_extra={"unit": "per unit of a"}
    )


class UnboundedLogDecay(Limits):
    """CD805."""

    steps: Count = Field(  # the sub-chunk of fla for diagonal decays
        16, description="steps whose cumulative decay a chunked form divides by", json_schema_extra={"unit": "steps"}
    )


class Thresholds(Limits):
    """The limits of every rule that has one, by the name of the rule."""

    score_scale: ScoreScale = ScoreScale()
    fragile_zero_set: FragileZeroSet = FragileZeroSet()
    numerator_grows: NumeratorGrows = NumeratorGrows()
    short_horizon: ShortHorizon = ShortHorizon()
    recall_capacity: RecallCapacity = RecallCapacity()
    rank_collapse: RankCollapse = RankCollapse()
    steep_square_root_gate: SteepSquareRootGate = SteepSquareRootGate()
    unbounded_log_decay: UnboundedLogDecay = UnboundedLogDecay()


class Threshold(NamedTuple):
    """One limit as people read it."""

    rule: str
    key: str
    value: float | Range
    unit: str
    allowed: str
    description: str


def listed(thresholds: Thresholds) -> Iterator[Threshold]:
    """Every limit with its unit, by rule."""
    for section in Thresholds.model_fields:
        limits: Limits = getattr(thresholds, section)
        for key, schema in _properties(type(limits)).items():
            value = getattr(limits, key.replace("-", "_"))
            yield Threshold(_kebab(section), key, value, schema["unit"], _allowed(schema), schema["description"])


@cache
def _properties(kind: type[Limits]) -> dict[str, dict[str, Any]]:
    """The JSON schema of each limit, by key."""
    properties: dict[str, dict[str, Any]] = kind.model_json_schema()["properties"]
    return properties


def _allowed(schema: Mapping[str, Any]) -> str:
    """The range of a limit, in the notation of intervals."""
    if schema["type"] == "array":
        return "[low, high] with 0 < low < high"
    low = f"({schema['exclusiveMinimum']:g}" if "exclusiveMinimum" in schema else f"[{schema['minimum']:g}"
    return f"{low}, {schema['maximum']:g}]"


def check_order(thresholds: Thresholds) -> None:
    """Refuse limits that contradict each other.

    Raises:
        SpecError: a band is empty, or does not lie in the wider one; `raised` is above `large`.
    """
    scale, gain, zero = thresholds.score_scale, thresholds.numerator_grows, thresholds.fragile_zero_set
    for key, (low, high) in (("band", scale.band), ("wide-band", scale.wide_band)):
        if not 0.0 < low < high:
            _refuse("score-scale", key, f"must be [low, high] with 0 < low < high, got [{low:g}, {high:g}]; change it.")
    if not (scale.wide_band[0] <= scale.band[0] and scale.band[1] <= scale.wide_band[1]):
        wide = f"[{scale.wide_band[0]:g}, {scale.wide_band[1]:g}]"
        _refuse("score-scale", "band", f"must lie in `wide-band` {wide}; narrow it or widen `wide-band`.")
    if gain.raised > gain.large:
        _refuse("numerator-grows", "raised", f"is above `large` ({gain.large:g}); lower it or raise `large`.")
    if zero.fragile_below > zero.robust_from:
        _refuse("fragile-zero-set", "fragile-below", f"is above `robust-from` ({zero.robust_from:g}); lower it.")


def _refuse(rule: str, key: str, message: str) -> None:
    raise SpecError(f"`{key}` of `{rule}` {message}", path=f"thresholds.{rule}.{key}")


DEFAULTS = Thresholds()
