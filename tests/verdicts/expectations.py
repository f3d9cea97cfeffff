"""Everything that the tests ask of one rule: its table, its examples, and the labelled cases it has a part in."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType

from checkers.check import check
from checkers.finding import Report
from checkers.rule import Example, Rule, all_rules, loaded
from checkers.thresholds import DEFAULTS, Thresholds
from designspace.errors import SpecError
from designspace.specfile import Loaded
from tests.cases.judge import judged
from tests.cases.record import Case, cases
from tests.verdicts.row import Row, alone, tables

Problems = Callable[[Report], frozenset[str]]


@dataclass(frozen=True, eq=False)
class Expectation:
    """One test of a rule: a candidate, and what is wrong with a report on it."""

    name: str
    rule: Rule
    found: Loaded
    problems: Problems
    row: Row | None = None

    def failures(self, thresholds: Thresholds = DEFAULTS) -> frozenset[str]:
        """What is wrong with the report of this rule alone."""
        row, found = self.row, self.found
        settings = alone(self.rule, thresholds) if row is None else row.settings(self.rule, thresholds)
        measurements = [] if row is None else row.measurements()
        return self.problems(check(found.candidate, settings, measurements=measurements, unread=found.unread))


@cache
def expectations(code: str) -> tuple[Expectation, ...]:
    """The tests of a rule; rows first, which are the closest to its limits."""
    rule = next(one for one in all_rules() if one.code == code)
    return (*_rows(rule), *_examples(rule), *_cases(rule))


def _rows(rule: Rule) -> Iterator[Expectation]:
    for table in tables():
        for row in table.rows if table.code == rule.code else ():
            yield Expectation(row.why, rule, row.load(), _of_row(rule, row), row)


def _of_row(rule: Rule, row: Row) -> Problems:
    return lambda report: frozenset(row.problems(rule, report))


def _examples(rule: Rule) -> Iterator[Expectation]:
    for answer, examples in (("pass", rule.passes), ("fail", rule.fails)):
        for index, example in enumerate(examples):
            yield _example(rule, answer, index, example)


def _example(rule: Rule, answer: str, index: int, example: Example) -> Expectation:
    def problems(report: Report) -> frozenset[str]:
        verdict = next(one.verdict for one in report.verdicts if one.code == rule.code)
        is_shown = any(one.code == rule.code for one in report.findings) or answer == "pass"
        return frozenset() if verdict == answer and is_shown else frozenset({f"{answer} expected, {verdict} given"})

    return Expectation(f"example {answer} {index}", rule, loaded(example), problems)


def _cases(rule: Rule) -> Iterator[Expectation]:
    for case in cases():
        found = _candidate(case) if _has_part(rule.code, case) else None
        if found is not None:
            yield Expectation(case.name, rule, found, _of_case(case, rule.code, found))


@cache
def _candidate(case: Case) -> Loaded | None:
    try:
        return case.record.load()
    except SpecError:
        return None


def _has_part(code: str, case: Case) -> bool:
    record = case.record
    parts = (record.expect, record.names, record.silent, record.numbers, record.says, record.paths, record.verdicts)
    return record.kind == "trap" or any(code in part for part in parts)


def _of_case(case: Case, code: str, found: Loaded) -> Problems:
    """Only what is said of this rule, since the others have not run."""

    def problems(report: Report) -> frozenset[str]:
        result = judged(case, report, found)
        return frozenset(one for one in (*result.misses, *result.alarms) if one.startswith(code))

    return problems


def called(work: Callable[[], object]) -> frozenset[CodeType]:
    """The code of every function that `work` calls."""
    seen: set[CodeType] = set()

    def hook(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        work()
    finally:
        sys.setprofile(before)
    return frozenset(seen)
