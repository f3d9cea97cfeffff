"""Markdown for the comment on a pull request: counts, then a table of findings for each candidate, the worst first.

GitHub takes 65,536 characters a comment: findings that do not fit are left out, infos and later candidates first to go,
and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from checkers.finding import Finding, Report, Severity
from checkers.format import Format
from checkers.location import LEVELS, alike, has_file, one_line, source_name

LIMIT = 65_000  # characters; GitHub refuses 65,537
ENDS = 8_000  # of them for what stands before and after the tables
SHOWN_PATHS, SHOWN_NAMES = 3, 20
MARKS: dict[Severity, str] = {"error": "🔴", "warning": "🟡", "info": "🔵"}
TABLE_HEAD = "| | rule | where | what |\n|---|---|---|---|\n"
ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_[]|~$"}
    | {"@": "&#64;", "#": "&#35;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the table of one report: equal findings."""

    report: int
    like: list[Finding]
    text: str


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - Markdown has no colour
    """The comment; silenced findings are only counted."""
    ordered = sorted(reports, key=_urgency)
    rows = _fitting(ordered)
    parts = ["## sextant lint\n", f"\n{_headline(reports)}\n"]
    for index, report in enumerate(ordered):
        own = [row.text for row in rows if row.report == index]
        if own:
            parts += [_heading(report), *own]
    clean = [_name(report) for report in reports if not report.active]
    if clean:
        parts.append(f"\nNothing to report: {_listed(clean, SHOWN_NAMES)}.\n")
    left_out = sum(len(report.active) for report in reports) - sum(len(row.like) for row in rows)
    if left_out:
        parts.append(f"\n{left_out:,} more findings do not fit into a comment; `sextant lint` shows them.\n")
    return "".join(parts)


def _urgency(report: Report) -> tuple[int, int]:
    return -report.summary.errors, -report.summary.warnings


def _fitting(reports: Sequence[Report]) -> list[_Row]:
    """The rows that fit into the limit, in the order of the reports; the least serious are given up first."""
    rows = [_Row(index, like, _row(like)) for index, report in enumerate(reports) for like in alike(report.active)]
    kept: set[int] = set()
    headed: set[int] = set()
    room = LIMIT - ENDS
    for position in sorted(range(len(rows)), key=lambda position: LEVELS.index(rows[position].like[0].severity)):
        row = rows[position]
        room -= len(row.text) + (0 if row.report in headed else len(_heading(reports[row.report])))
        if room < 0:
            break
        kept.add(position)
        headed.add(row.report)
    return [row for position, row in enumerate(rows) if position in kept]


def _headline(reports: Sequence[Report]) -> str:
    summaries = [report.summary for report in reports]
    counts = {
        "error": sum(summary.errors for summary in summaries),
        "warning": sum(summary.warnings for summary in summaries),
        "info": sum(summary.infos for summary in summaries),
        "suppressed": sum(len(report.findings) - len(report.active) for report in reports),
    }
    shown = [_counted(count, name) for name, count in counts.items() if count or name != "suppressed"]
    return f"{', '.join(shown)} in {_counted(len(reports), 'spec')}."


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 or name == 'suppressed' else 's'}"


def _heading(report: Report) -> str:
    unknown = f", {report.summary.unknown} rules not judged" if report.summary.unknown else ""
    passed = f"{report.summary.passed} rules pass{unknown}; length {report.target.seq_len:,}, {report.target.dtype}."
    return f"\n### {_name(report)}\n\n{passed}\n\n{TABLE_HEAD}"


def _name(report: Report) -> str:
    named = _code(report.candidate.name)
    return f"{named} in {_code(source_name(report))}" if has_file(report) else named


def _row(like: list[Finding]) -> str:
    first = like[0]
    places = [_code(f"{finding.path}, line {finding.span.line}" if finding.span else finding.path) for finding in like]
    mark = f"{MARKS[first.severity]} {first.severity}"
    return f"| {mark} | {first.code} {first.name} | {_listed(places, SHOWN_PATHS)} | {escaped(first.message)} |\n"


def _listed(items: Sequence[str], most: int) -> str:
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")


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
