"""A row of a verdict table: a spec, the answer of one rule, and its finding."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from checkers.alike import apart
from checkers.check import check
from checkers.finding import Answer, Finding, Report, Severity
from checkers.rule import Rule
from checkers.settings import ALL, Settings
from checkers.thresholds import DEFAULTS, Thresholds
from designspace.document import parse
from designspace.errors import SpecError
from designspace.measurement import Measurement
from designspace.specfile import Loaded
from tests.cases.judge import meets
from tests.cases.record import Expected, Near, Strict, loaded

TABLES = Path(__file__).parent
FIRST_MIXER = "blocks[0].mixer"
ROWS = "rows"
EXACT = 1e-9  # relative, of a number that a fix writes


def alone(rule: Rule, thresholds: Thresholds = DEFAULTS) -> Settings:
    """Settings that run this rule; one about the report needs all others."""
    return Settings(select=(ALL if rule.stage == "report" else rule.code,), thresholds=thresholds)


class Shown(Strict):
    """What a finding must be; a key that is absent is not judged.

    Attributes:
        count: number of places of the findings of the rule.
        fix: applicability of the fix, `none` for a finding without one.
        edits: what the fix sets, by path; null removes.
        says: part of the message.
    """

    level: Severity | None = None
    path: str | None = None
    evidence: dict[str, Expected] = Field(default_factory=dict)
    fix: Literal["safe", "unsafe", "display", "none"] | None = None
    edits: dict[str, Any] | None = None
    says: str | None = None
    count: int | None = None

    def differences(self, finding: Finding) -> Iterator[str]:
        """Where `finding` is not as it should be."""
        if self.level is not None and finding.severity != self.level:
            yield f"level {self.level} expected, {finding.severity} reported"
        if self.path is not None and finding.path != self.path:
            yield f"path {self.path} expected, {finding.path} reported"
        for name, wanted in self.evidence.items():
            value = finding.evidence[name].value if name in finding.evidence else None
            if not meets(wanted, value):
                yield f"{name} = {wanted!r} expected, {value!r} reported"
        yield from self._fix_differences(finding)
        if self.says is not None and self.says not in finding.message:
            yield f"{self.says!r} is not in the message: {finding.message}"

    def _fix_differences(self, finding: Finding) -> Iterator[str]:
        applicability = "none" if finding.fix is None else finding.fix.applicability
        if self.fix is not None and applicability != self.fix:
            yield f"fix {self.fix} expected, {applicability} reported"
        edits = {edit.path: edit.value for edit in finding.fix.edits} if finding.fix else {}
        if self.edits is not None and not _same_edits(self.edits, edits):
            yield f"edits {self.edits} expected, {edits} reported"


def _same_edits(wanted: Mapping[str, Any], edits: Mapping[str, Any]) -> bool:
    """Equal values at equal paths: 1 % of a decay of 0.998 would be another memory."""
    return wanted.keys() == edits.keys() and all(_same(value, edits[path]) for path, value in wanted.items())


def _same(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return Near(value=wanted, within=EXACT).meets(value)
    return bool(value == (tuple(wanted) if isinstance(wanted, list) else wanted))


class Row(Strict):
    """One row.

    Attributes:
        why: what the row holds the rule to.
        spec, config: as in a labelled case.
        verdict: the answer of the rule over the whole candidate; absent in a row of numbers alone.
        finding: the finding there must be; none at all where absent.
        reason: part of the verdict's reason.
        evidence: of the verdict, by name.
        measured: values of a probe at the first mixer, by quantity.
        select: what runs, where that is not the rule alone.
    """

    why: str = Field(min_length=4)
    spec: dict[str, Any] | str | None = None
    config: dict[str, Any] | str | None = None
    verdict: Answer | None = None
    finding: Shown | None = None
    reason: str | None = None
    evidence: dict[str, Expected] = Field(default_factory=dict)
    measured: dict[str, float] = Field(default_factory=dict)
    select: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.spec is None) == (self.config is None):
            raise ValueError("give exactly one of `spec` and `config`.")
        if self.verdict is None and (self.finding is not None or not self.evidence):
            raise ValueError("without a `verdict` a row has `evidence` and no `finding`.")
        return self

    def load(self) -> Loaded:
        """The candidate of the row."""
        return loaded(self.spec, self.config)

    def report(self, rule: Rule, found: Loaded) -> Report:
        """The report of this rule alone."""
        return check(found.candidate, self.settings(rule), measurements=self.measurements(), unread=found.unread)

    def settings(self, rule: Rule, thresholds: Thresholds = DEFAULTS) -> Settings:
        """What runs."""
        if self.select is not None:
            return Settings(select=self.select, thresholds=thresholds)
        return alone(rule, thresholds)

    def measurements(self) -> list[Measurement]:
        """What a probe found at the first mixer."""
        return [
            Measurement(probe="row", quantity=name, path=FIRST_MIXER, value=value, uncertainty=0.0, draws=2, seed=0)
            for name, value in self.measured.items()
        ]

    def problems(self, rule: Rule, report: Report) -> tuple[str, ...]:
        """Where the report differs from the row."""
        return tuple(self._problems(rule, report))

    def _problems(self, rule: Rule, report: Report) -> Iterator[str]:
        verdict = next(one for one in report.verdicts if one.code == rule.code)
        if self.verdict is not None and verdict.verdict != self.verdict:
            yield f"verdict {self.verdict} expected, {verdict.verdict} given: {verdict.reason}"
        if self.reason is not None and self.reason not in verdict.reason:
            yield f"{self.reason!r} is not in the reason: {verdict.reason}"
        given: Mapping[str, Any] = getattr(verdict, "evidence", {})
        for name, wanted in self.evidence.items():
            value = given[name].value if name in given else None
            if not meets(wanted, value):
                yield f"{name} = {wanted!r} expected of the verdict, {value!r} given"
        if self.verdict is not None:
            yield from self._finding_problems([one for one in report.active if one.code == rule.code])

    def _finding_problems(self, findings: list[Finding]) -> Iterator[str]:
        if self.finding is None:
            yield from (f"no finding expected: {one.severity} {one.path}: {one.message}" for one in findings)
            return
        if not findings:
            yield "a finding is expected"
            return
        if self.finding.count is not None and len(apart(findings)) != self.finding.count:
            yield f"findings at {self.finding.count} places expected, {len(apart(findings))} reported"
        differences = [tuple(self.finding.differences(one)) for one in findings]
        yield from min(differences, key=len)


@dataclass(frozen=True)
class Table:
    """Rows of one rule, by its code; a rule may have several files, CD501.yaml and CD501_measured.yaml."""

    code: str
    rows: tuple[Row, ...]


@cache
def tables(folder: Path = TABLES) -> tuple[Table, ...]:
    """Every table, by code.

    Raises:
        SpecError: a file is no table.
    """
    return tuple(_table(path) for path in sorted(folder.glob("CD*.yaml")))


def _table(path: Path) -> Table:
    """A file is a list; as the value of a key it is a document that knows its lines."""
    try:
        document = parse(f"{ROWS}:\n{path.read_text(encoding='utf-8')}", str(path))
        return Table(path.stem.partition("_")[0], _Rows.model_validate(document.data).rows)
    except SpecError as error:
        raise _one_line_up(error) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = tuple(part for part in first["loc"] if isinstance(part, int | str))
        raise _one_line_up(document.error(f"{'.'.join(map(str, place))}: {first['msg']}", place)) from None


class _Rows(Strict):
    rows: tuple[Row, ...]


def _one_line_up(error: SpecError) -> SpecError:
    line = None if error.line is None else error.line - 1
    return SpecError(error.message, file=error.file, line=line, column=error.column, path=error.path)
