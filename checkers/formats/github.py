"""GitHub workflow commands: a run of a workflow shows each finding at its line of the pull request.

Source: docs.github.com, "Workflow commands for GitHub Actions"; escapes as in actions/toolkit, `command.ts`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from checkers.entries import told
from checkers.finding import Fault, Finding, Report, Severity
from checkers.format import Format
from checkers.location import has_file, one_line, place, repository_path, source_name

COMMANDS: Mapping[Severity, str] = MappingProxyType({"error": "error", "warning": "warning", "info": "notice"})
IN_MESSAGES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTIES = {**IN_MESSAGES, ":": "%3A", ",": "%2C"}


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - commands have no colour
    """One command for each finding that no suppression silences, and each probe fault; nothing where there are none."""
    return "".join(_command(one, report) for report in reports for one in report.problems)


def _command(one: Finding | Fault, report: Report) -> str:
    properties: dict[str, str | int] = {}
    message = f"{one.path}: {told(one)}"
    if has_file(report):
        where = place(one, report)
        properties |= {"file": one_line(repository_path(report)), "line": where.line, "endLine": where.end_line}
        if where.line == where.end_line:  # GitHub refuses columns of a region of several lines
            properties |= {"col": where.column, "endColumn": where.end_column}
    else:
        message = f"{source_name(report)} {message}"
    properties["title"] = f"{one.code} {one.name}"
    listed = ",".join(f"{name}={escaped(str(value), IN_PROPERTIES)}" for name, value in properties.items())
    return f"::{COMMANDS[one.severity]} {listed}::{escaped(message, IN_MESSAGES)}\n"


def escaped(text: str, escapes: Mapping[str, str]) -> str:
    """`text` with every character of `escapes` replaced."""
    return "".join(escapes.get(character, character) for character in text)


format = Format(render=render)  # noqa: A001 - the attribute that units.discover takes
