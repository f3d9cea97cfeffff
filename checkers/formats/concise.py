"""One line for each finding and probe fault: `file:line:column: CODE severity path: message`."""

from collections.abc import Sequence

from checkers.entries import told
from checkers.finding import Fault, Finding, Report
from checkers.format import Format
from checkers.formats.text import COLOURS, RESET
from checkers.location import one_line, place, source_name


def render(reports: Sequence[Report], *, colour: bool = False) -> str:
    """The findings that no suppression silences, then the faults; nothing where there are none."""
    return "".join(_line(one, report, colour=colour) for report in reports for one in report.problems)


def _line(one: Finding | Fault, report: Report, *, colour: bool) -> str:
    where = place(one, report)
    level = f"{COLOURS[one.severity]}{one.severity}{RESET}" if colour else one.severity
    message = one_line(f"{one.path}: {told(one)}")
    return f"{source_name(report)}:{where.line}:{where.column}: {one.code} {level} {message}\n"


format = Format(render=render)  # noqa: A001 - the attribute that units.discover takes
