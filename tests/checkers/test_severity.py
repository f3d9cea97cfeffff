"""The severity table, row by row, against theory section 4."""

from typing import Any

import pytest

from checkers.severity import TABLE, Kind, severity
from designspace.target import Target

ROWS: list[tuple[Kind, str, str]] = [
    (Kind.QUADRATIC_COST, "warning", "info"),
    (Kind.LIFTED_STATE, "warning", "info"),
    (Kind.FRAGILE_WITH_GATE, "info", "info"),
    (Kind.FRAGILE_WITHOUT_GATE, "info", "info"),
    (Kind.NO_SUPPRESSION, "warning", "info"),
    (Kind.NO_POSITION, "error", "warning"),
    (Kind.POSITION_ELSEWHERE, "info", "info"),
    (Kind.BIAS_GROWS, "error", "error"),
    (Kind.OPERATIONS, "info", "info"),
    (Kind.SCORE_FAR, "error", "info"),
    (Kind.SCORE_OFF, "warning", "info"),
    (Kind.NUMERATOR_LARGE, "error", "warning"),
    (Kind.NUMERATOR_RAISED, "warning", "info"),
    (Kind.EXPANSION, "error", "error"),
    (Kind.NOT_CERTIFIED, "info", "info"),
    (Kind.ETA_VANISHES, "error", "warning"),
    (Kind.ETA_UNBOUNDED, "warning", "info"),
    (Kind.NO_STABILISER, "error", "warning"),
    (Kind.MEMORY, "warning", "info"),
    (Kind.HORIZON_SHORT, "warning", "info"),
    (Kind.NUMERICS, "warning", "warning"),
    (Kind.OVERFLOW, "error", "error"),
    (Kind.BROKEN, "error", "error"),
]


def test_every_kind_has_a_row():
    assert set(TABLE) == set(Kind)


@pytest.mark.parametrize(("kind", "new", "checkpoint"), ROWS)
def test_row(kind: Kind, new: str, checkpoint: str):
    assert severity(kind, Target()) == new
    assert severity(kind, Target(provenance="checkpoint")) == checkpoint


@pytest.mark.parametrize(
    ("kind", "target", "level"),
    [
        (Kind.QUADRATIC_COST, {"linear_time": True}, "error"),
        (Kind.FRAGILE_WITHOUT_GATE, {"needs": ("copying",)}, "warning"),
        (Kind.FRAGILE_WITH_GATE, {"needs": ("copying",)}, "info"),
        (Kind.PARITY_EXCLUDED, {"needs": ("state_tracking",)}, "warning"),
        (Kind.OPERATIONS, {"needs": ("state_tracking",)}, "info"),
        (Kind.SCORE_FAR, {"parametrisation": "mup"}, "info"),
        (Kind.HORIZON_VANISHING, {}, "warning"),
        (Kind.HORIZON_VANISHING, {"needs": ("long_memory",)}, "error"),
        (Kind.HORIZON_VANISHING, {"needs": ("compression",)}, "warning"),
    ],
)
def test_target_changes_the_level(kind: Kind, target: dict[str, Any], level: str):
    assert severity(kind, Target(**target)) == level


def test_a_learnable_factor_is_one_step_lower():
    assert severity(Kind.SCORE_FAR, Target(), lowered=True) == "warning"
    assert severity(Kind.SCORE_OFF, Target(), lowered=True) == "info"
