"""The one table of severities: how serious a kind of fail is, by target and provenance. Source: theory, section 4."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from checkers.finding import Severity
from designspace.target import Target


class Kind(StrEnum):
    """What failed, or what is worth a note. The value is what the table's row is about."""

    NOTE = "a remark beside a pass or an unknown"
    QUADRATIC_COST = "quadratic cost, the cache grows"
    LIFTED_STATE = "lifted state larger than the cache at seq_len"
    FRAGILE_WITH_GATE = "fragile zero set, selectivity by a gate"
    FRAGILE_WITHOUT_GATE = "fragile zero set, no gate"
    NO_SUPPRESSION = "positive floor, or coefficients independent of the input"
    NO_POSITION = "one causal layer or a bidirectional stack without position"
    POSITION_ELSEWHERE = "position only by mask, embeddings or other layers"
    BIAS_GROWS = "the distance bias grows with distance"
    OPERATIONS = "limited operations on keys"
    PARITY_EXCLUDED = "parity excluded at any depth, proved"
    SCORE_FAR = "score std outside [0.25, 4]"
    SCORE_OFF = "score std outside [0.5, 2]"
    SCALE_AT_INIT_ONLY = "the score scale is right at initialisation only"
    NUMERATOR_LARGE = "output gain of 16 or more"
    NUMERATOR_RAISED = "output gain of 4 or more"
    EXPANSION = "a declared bound of the evolution above 1"
    NOT_CERTIFIED = "the evolution is not certified"
    ETA_VANISHES = "eta can be 0 or change sign"
    ETA_UNBOUNDED = "eta is not bounded away from 0"
    NO_STABILISER = "an exponential without a stabiliser"
    FLOOR_STABILISER = "a stabiliser floor that can overflow"
    HORIZON_VANISHING = "longest half-life below two steps"
    HORIZON_SHORT = "longest half-life below an eighth of the length"
    HORIZON_LEARNABLE = "short at initialisation, but the gate can lengthen it"
    MEMORY = "capacity, reach or rank"
    NUMERICS = "number format or derivative"
    OVERFLOW = "a certain overflow"
    BROKEN = "shape, causality or import"
    UNUSED = "an unused suppression"


@dataclass(frozen=True, slots=True)
class Row:
    """Severity for a new design and for a trained checkpoint; `changed` replaces both where `when` holds.

    The docstring of `when` is its condition in words, for the documentation.
    """

    new: Severity
    checkpoint: Severity
    changed: Severity | None = None
    when: Callable[[Target], bool] | None = None


def _linear_time(target: Target) -> bool:
    """`target.linear_time` is set"""
    return target.linear_time


def _suppresses(target: Target) -> bool:
    """`target.needs` has recall or copying"""
    return not {"recall", "copying"}.isdisjoint(target.needs)


def _remembers(target: Target) -> bool:
    """`target.needs` has recall, copying or long_memory"""
    return not {"recall", "copying", "long_memory"}.isdisjoint(target.needs)


def _tracks_state(target: Target) -> bool:
    """`target.needs` has state_tracking"""
    return "state_tracking" in target.needs


def _is_mup(target: Target) -> bool:
    """`target.parametrisation` is mup"""
    return target.parametrisation == "mup"


TABLE: Mapping[Kind, Row] = MappingProxyType(
    {
        Kind.NOTE: Row("info", "info"),
        Kind.QUADRATIC_COST: Row("warning", "info", "error", _linear_time),
        Kind.LIFTED_STATE: Row("warning", "info"),
        Kind.FRAGILE_WITH_GATE: Row("info", "info"),
        Kind.FRAGILE_WITHOUT_GATE: Row("info", "info", "warning", _suppresses),
        Kind.NO_SUPPRESSION: Row("warning", "info"),
        Kind.NO_POSITION: Row("error", "warning"),
        Kind.POSITION_ELSEWHERE: Row("info", "info"),
        Kind.BIAS_GROWS: Row("error", "error"),
        Kind.OPERATIONS: Row("info", "info"),
        Kind.PARITY_EXCLUDED: Row("info", "info", "warning", _tracks_state),
        Kind.SCORE_FAR: Row("error", "info", "info", _is_mup),
        Kind.SCORE_OFF: Row("warning", "info", "info", _is_mup),
        Kind.SCALE_AT_INIT_ONLY: Row("info", "info"),
        Kind.NUMERATOR_LARGE: Row("error", "warning"),
        Kind.NUMERATOR_RAISED: Row("warning", "info"),
        Kind.EXPANSION: Row("error", "error"),
        Kind.NOT_CERTIFIED: Row("info", "info"),
        Kind.ETA_VANISHES: Row("error", "warning"),
        Kind.ETA_UNBOUNDED: Row("warning", "info"),
        Kind.NO_STABILISER: Row("error", "warning"),
        Kind.FLOOR_STABILISER: Row("warning", "info"),
        Kind.HORIZON_VANISHING: Row("warning", "info", "error", _remembers),
        Kind.HORIZON_SHORT: Row("warning", "info"),
        Kind.HORIZON_LEARNABLE: Row("info", "info"),
        Kind.MEMORY: Row("warning", "info"),
        Kind.NUMERICS: Row("warning", "warning"),
        Kind.OVERFLOW: Row("error", "error"),
        Kind.BROKEN: Row("error", "error"),
        Kind.UNUSED: Row("warning", "warning"),
    }
)
ONE_STEP_LOWER: Mapping[Severity, Severity] = MappingProxyType({"error": "warning", "warning": "info", "info": "info"})


def severity(kind: Kind, target: Target, *, lowered: bool = False) -> Severity:
    """How serious `kind` is for `target`; `lowered` (a learnable factor) takes one step off."""
    row = TABLE[kind]
    if row.changed is not None and row.when is not None and row.when(target):
        return row.changed
    level = row.checkpoint if target.provenance == "checkpoint" else row.new
    return ONE_STEP_LOWER[level] if lowered else level
