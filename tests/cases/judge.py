"""What the checker said about a case, and where that differs from what the record asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checkers.check import check
from checkers.finding import Finding, Report
from designspace.errors import SpecError
from designspace.events import split_path
from designspace.specfile import Loaded
from tests.cases.record import Case, Expected, Near, Record

LEVELS = ("info", "warning", "error")
ROUNDING = 1e-9  # relative, of an imported number
MAX_INFOS = 2  # of a trap, beyond `expect` and `names`


@dataclass(frozen=True)
class Judged:
    """One case after the check.

    Attributes:
        misses: what the record asks for and the checker did not say.
        alarms: findings at warning or error that the record does not know, or above the level it allows.
        infos: codes of the infos that the record does not name.
        findings: everything that was reported, for people.
    """

    case: Case
    misses: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """The checker said what the record asks, and nothing it forbids."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that is wrong, in words."""
        many = f"{len(self.infos)} infos ({', '.join(self.infos)}), at most {MAX_INFOS} expected"
        crowded = self.case.record.kind == "trap" and len(self.infos) > MAX_INFOS
        return (*self.misses, *self.alarms, *((many,) if crowded else ()))


def judge(case: Case) -> Judged:
    """The case held against the checker."""
    record = case.record
    try:
        found = record.load()
    except SpecError as error:
        return _refused(case, error)
    if record.error is not None:
        return Judged(case, (f"accepted, but an error with {record.error!r} is expected",))
    return judged(case, check(found.candidate, unread=found.unread), found)


def judged(case: Case, report: Report, found: Loaded) -> Judged:
    """The case held against a report on it."""
    record = case.record
    return Judged(
        case,
        tuple(_misses(record, report, found)),
        tuple(_alarms(record, report)),
        tuple(_infos(record, report)),
        tuple(_line(finding) for finding in report.active),
    )


def _refused(case: Case, error: SpecError) -> Judged:
    wanted = case.record.error
    if wanted is not None and wanted in str(error):
        return Judged(case)
    return Judged(case, (f"refused: {error}",))


def levels(report: Report) -> dict[str, str]:
    """The most serious level of each code that has a finding."""
    found: dict[str, str] = {}
    for finding in report.active:
        found[finding.code] = max(finding.severity, found.get(finding.code, "info"), key=LEVELS.index)
    return found


def _misses(record: Record, report: Report, found: Loaded) -> Iterator[str]:
    reported = levels(report)
    for code, level in record.expect.items():
        if record.kind == "defect" and reported.get(code) != level:
            yield f"{code}: {level} expected, {reported.get(code, 'nothing')} reported"
    for code in record.silent:
        if code in reported:
            yield f"{code}: silence expected, {reported[code]} reported"
    for code, numbers in record.numbers.items():
        for name, value in numbers.items():
            yield from _number(report, code, name, value)
    for code, text in record.says.items():
        if not any(text in finding.message for finding in report.active if finding.code == code):
            yield f"{code}: no message says {text!r}"
    for code, paths in record.paths.items():
        places = tuple(finding.path for finding in report.active if finding.code == code)
        if sorted(places) != sorted(paths):
            yield f"{code}: findings at {list(paths)} expected, at {list(places)} reported"
    for code, answer in record.verdicts.items():
        given = next((verdict for verdict in report.verdicts if verdict.code == code), None)
        if given is None or given.verdict != answer:
            yield f"{code}: verdict {answer} expected, {given and given.verdict} given ({given and given.reason})"
    yield from _imported(record, found)


def _number(report: Report, code: str, name: str, wanted: Expected) -> Iterator[str]:
    values = [
        finding.evidence[name].value for finding in report.active if finding.code == code and name in finding.evidence
    ]
    if not any(meets(wanted, value) for value in values):
        yield f"{code}: {name} = {_text(wanted)} expected, {values or 'no such evidence'} reported"


def meets(wanted: Expected, value: Any) -> bool:
    """`value` is the number within its tolerance, the text, or the interval; None where none is wanted."""
    match wanted:
        case None:
            return value is None
        case Near():
            return wanted.meets(value)
        case str():
            return bool(value == wanted)
        case tuple():
            return isinstance(value, tuple | list) and len(value) == len(wanted) and all(map(_close, wanted, value))
        case _:
            return _close(wanted, value)


def _close(wanted: float, value: Any) -> bool:
    return Near(value=wanted).meets(value)


def _text(wanted: Expected) -> str:
    return f"{wanted.value:g} (within {wanted.within:g})" if isinstance(wanted, Near) else repr(wanted)


def _imported(record: Record, found: Loaded) -> Iterator[str]:
    content = found.candidate.model_dump(mode="json", by_alias=True)
    for path, wanted in record.spec_holds.items():
        value = _at(content, path)
        if value != wanted and not (isinstance(wanted, float) and Near(value=wanted, within=ROUNDING).meets(value)):
            yield f"{path}: {wanted!r} expected, {value!r} imported"


def _at(content: Any, path: str) -> Any:
    """The value at `path`, or a text that says where the path ends."""
    for part in split_path(path):
        try:
            content = content[part]
        except (KeyError, IndexError, TypeError):
            return f"nothing at {part!r}"
    return content


def _allowed(record: Record, finding: Finding) -> bool:
    """The record expects or names the code at this level or a more serious one."""
    level = (record.expect | record.names).get(finding.code)
    return level is not None and LEVELS.index(finding.severity) <= LEVELS.index(level)


def _alarms(record: Record, report: Report) -> Iterator[str]:
    for finding in report.active:
        if finding.severity != "info" and not _allowed(record, finding):
            yield f"{_line(finding)} is not expected"


def _infos(record: Record, report: Report) -> Iterator[str]:
    """Codes; layers that are alike say the same."""
    beyond = (one.code for one in report.active if one.severity == "info" and not _allowed(record, one))
    yield from dict.fromkeys(beyond)


def _line(finding: Finding) -> str:
    return f"{finding.code} {finding.severity} {finding.path}: {finding.message}"
