"""Markdown for the comment on a pull request: counts, then a table of findings for each candidate, the worst first.

Findings that differ in numbers alone are one row. Faults of the implementation come before all findings.

GitHub takes 65,536 characters a comment: findings that do not fit are left out, infos and later candidates first to go,
and counted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from checkers.entries import SEE_ALL, Entry, entries, totals_text
from checkers.finding import Fault, Report, Severity
from checkers.format import Format
from checkers.location import LEVELS, has_file, one_line, source_name

LIMIT = 65_000  # characters; GitHub refuses 65,537
ENDS = 8_000  # of them for what stands before and after the tables
SHOWN_NAMES, SHOWN_PLACES = 20, 4
MARKS: dict[Severity, str] = {"error": "🔴", "warning": "🟡", "info": "🔵"}
TABLE_HEAD = "| | rule | where | what |\n|---|---|---|---|\n"
IN_BACKTICKS = re.compile("`([^`]+)`")
ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_[]|~$"}
    | {"@": "&#64;", "#": "&#35;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table of one report, and how many findings or faults it holds."""

    report: int
    level: int
    count: int
    text: str


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - Markdown has no colour
    """The comment; silenced findings are only counted."""
    ordered = sorted(reports, key=_urgency)
    rows = _fitting(ordered)
    parts = ["## sextant lint\n", f"\n{totals_text(reports)}.\n"]
    for index, report in enumerate(ordered):
        own = [row.text for row in rows if row.report == index]
        if own:
            parts += [_heading(report), *own]
    clean = [_name(report) for report in reports if not report.problems]
    if clean:
        parts.append(f"\nNothing to report: {_listed(clean, SHOWN_NAMES)}.\n")
    left_out = sum(len(report.problems) for report in reports) - sum(row.count for row in rows)
    if left_out:
        parts.append(f"\n{left_out:,} more findings do not fit into a comment; `sextant lint` shows them.\n")
    return "".join(parts)


def _urgency(report: Report) -> tuple[int, int]:
    return -report.summary.errors - len(report.faults), -report.summary.warnings


def _fitting(reports: Sequence[Report]) -> list[_Row]:
    """The rows that fit into the limit, in the order of the reports; the least serious are given up first."""
    rows = [row for index, report in enumerate(reports) for row in _rows(index, report)]
    kept: set[int] = set()
    headed: set[int] = set()
    room = LIMIT - ENDS
    for position in sorted(range(len(rows)), key=lambda position: rows[position].level):
        row = rows[position]
        room -= len(row.text) + (0 if row.report in headed else len(_heading(reports[row.report])))
        if room < 0:
            break
        kept.add(position)
        headed.add(row.report)
    return [row for position, row in enumerate(rows) if position in kept]


def _heading(report: Report) -> str:
    unknown = f", {report.summary.unknown} not judged" if report.summary.unknown else ""
    passed = f"{report.summary.passed} rules pass{unknown}; length {report.target.seq_len:,}, {report.target.dtype}."
    return f"\n### {_name(report)}\n\n{passed}\n\n{TABLE_HEAD}"


def _name(report: Report) -> str:
    named = _code(report.candidate.name)
    return f"{named} in {_code(source_name(report))}" if has_file(report) else named


def _rows(index: int, report: Report) -> list[_Row]:
    faults = [_Row(index, 0, 1, _fault(fault)) for fault in report.faults]
    findings = entries(report)
    return faults + [_Row(index, LEVELS.index(one.first.severity), len(one.findings), _row(one)) for one in findings]


def _row(entry: Entry) -> str:
    first = entry.first
    layers = f" ({entry.num_layers:,} layers)" if entry.num_layers > 1 else ""
    places = [_code(place) for place in entry.places]
    where = f"{_listed(places, SHOWN_PLACES)}{layers}" + (f", {entry.lines}" if entry.lines else "")
    what = [_prose(one.message) for one in entry.ends]
    if len(what) > 1:
        what = [f"{_code(one.path)}: {text}" for one, text in zip(entry.ends, what, strict=True)]
    if entry.unshown:
        what.append(f"and {entry.unshown:,} more between these two; `{SEE_ALL}` shows each")
    if entry.probe is not None:
        what.append(f"probe: {_prose(entry.probe)}")
    return f"| {_mark(first.severity)} | {first.code} {first.name} | {where} | {'<br>'.join(what)} |\n"


def _fault(fault: Fault) -> str:
    line = f", line {fault.span.line}" if fault.span else ""
    return f"| {_mark('error')} | {fault.code} | {_code(fault.path)}{line} | {_prose(fault.message)} |\n"


def _mark(severity: Severity) -> str:
    return f"{MARKS[severity]} {severity}"


def _listed(items: Sequence[str], most: int) -> str:
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")


def _prose(text: str) -> str:
    """`text` as itself, what stands in backticks as code."""
    parts = IN_BACKTICKS.split(text)
    return "".join(_code(part) if index % 2 else escaped(part) for index, part in enumerate(parts))


def escaped(text: str) -> str:
    """`text` on one line, as itself: no markup, no mention, no reference to an issue."""
    return one_line(text).translate(ESCAPES)


def _code(text: str) -> str:
    """`text` as code in a table; the fence is longer than any run of backticks in it."""
    line = one_line(text).replace("|", "\\|")
    fence = "`" * next(length for length in range(1, len(line) + 2) if "`" * length not in line)
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="text/markdown", extension="md"
)
