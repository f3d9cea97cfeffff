"""Breakages of what rules look up: rows of the severity table, and limits of the settings."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from checkers import severity
from checkers.finding import Severity
from checkers.rule import Rule
from checkers.severity import Kind, Row
from checkers.thresholds import DEFAULTS, Thresholds
from designspace.target import Target
from tests.verdicts.mutants import Mutant, shifted

OTHER: dict[Severity, Severity] = {"error": "warning", "warning": "error", "info": "warning"}
TABLE = "checkers.severity"
LIMITS = "checkers.thresholds"


@dataclass(frozen=True)
class Unless:
    """A condition that holds where it should not."""

    row: Row

    def __call__(self, target: Target) -> bool:
        return self.row.when is not None and not self.row.when(target)


def of_severity(rule: Rule) -> Iterator[Mutant]:
    """Each level of each row that the rule uses, changed; each condition dropped or negated."""
    for kind in rule.kinds:
        row = severity.TABLE[kind]
        yield _row(kind, "new", replace(row, new=OTHER[row.new]))
        yield _row(kind, "checkpoint", replace(row, checkpoint=OTHER[row.checkpoint]))
        if row.changed is not None:
            yield _row(kind, "changed", replace(row, changed=OTHER[row.changed]))
            yield _row(kind, "when dropped", replace(row, when=None))
            yield _row(kind, "when negated", replace(row, when=Unless(row)))


def _row(kind: Kind, what: str, broken: Row) -> Mutant:
    table = MappingProxyType({**severity.TABLE, kind: broken})
    return Mutant(TABLE, "TABLE", f"{kind.name} {what}", 0, value=table)


def of_limits(rule: Rule) -> Iterator[Mutant]:
    """Each limit of the rule moved a little; both ends of a band."""
    section = rule.name.replace("-", "_")
    limits = getattr(DEFAULTS, section, None)
    if limits is None:
        return
    for key in type(limits).model_fields:
        value = getattr(limits, key)
        for part, moved in _moved(value):
            thresholds = DEFAULTS.model_copy(update={section: limits.model_copy(update={key: moved})})
            yield Mutant(LIMITS, "DEFAULTS", f"{key}{part} {value} -> {moved}", 0, value=thresholds)


def _moved(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        for end in (0, 1):
            yield f"[{end}]", tuple(shifted(one) if index == end else one for index, one in enumerate(value))
    else:
        yield "", shifted(value)


def thresholds_of(mutant: Mutant) -> Thresholds:
    """The limits that a rule compares with under the mutant."""
    return mutant.value if mutant.module == LIMITS else DEFAULTS
