"""One line for each finding: `file:line:column: CODE severity message`."""

from collections.abc import Sequence

from checkers.finding import Finding, Report
from checkers.format import Format
from checkers.formats.text import COLOURS, RESET
from checkers.location import one_line, place, source_name


def render(reports: Sequence[Report], *, colour: bool = False) -> str:
    """The findings that no suppression silences; nothing where there are none."""
    return "".join(_line(finding, report, colour=colour) for report in reports for finding in report.active)


def _line(finding: Finding, report: Report, *, colour: bool) -> str:
    where = place(finding, report)
    level = f"{COLOURS[finding.severity]}{finding.severity}{RESET}" if colour else finding.severity
    message = one_line(f"{finding.path}: {finding.message}")
    return f"{source_name(report)}:{where.line}:{where.column}: {finding.code} {level} {message}\n"


format = Format(render=render)  # noqa: A001 - the attribute that units.discover takes
