"""Where findings stand: file, line and column for formats that must name them, and which findings say the same."""

from collections.abc import Sequence
from pathlib import Path, PurePath
from posixpath import normpath
from typing import get_args
from urllib.parse import quote

from checkers.finding import Finding, Place, Report, Severity

NO_FILE = "specs"  # folder of the file that a candidate without one (catalogue, search) would be written to
NOT_FILES = ("catalogue:", "<")
REPLACEMENT = "\ufffd"
LEVELS: tuple[Severity, ...] = get_args(Severity)  # worst first


def one_line(text: str) -> str:
    """`text` without line breaks and without what a terminal or a browser would obey."""
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else REPLACEMENT


def has_file(report: Report) -> bool:
    """The candidate came from a file, not from the catalogue, standard input or a search."""
    source = report.candidate.source
    return source is not None and not source.startswith(NOT_FILES)


def source_name(report: Report) -> str:
    """What people call the origin of the candidate, on one line: its file, `catalogue:NAME`, or its name."""
    return one_line(report.candidate.source or report.candidate.name)


def repository_path(report: Report) -> str:
    """The file relative to the current folder, with forward slashes; `specs/FINGERPRINT.yaml` where there is none."""
    if not has_file(report):
        return f"{NO_FILE}/{report.candidate.fingerprint}.yaml"
    path, here = PurePath(str(report.candidate.source)), Path.cwd()
    inside = path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path
    return normpath(inside.as_posix())


def uri(report: Report) -> str:
    """`repository_path` as a URI reference; an absolute path outside the current folder is a `file:` URI."""
    path = quote(repository_path(report), safe="/")
    return f"file://{path}" if path.startswith("/") else path


def place(finding: Finding, report: Report) -> Place:
    """The region of the finding; the first character of the file where the candidate has no document."""
    return finding.span or Place(file=source_name(report), line=1, column=1, end_line=1, end_column=2)


def alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one rule with one message and severity, worst first: people read equal ones once."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.code, finding.message), []).append(finding)
    return sorted(groups.values(), key=lambda group: (LEVELS.index(group[0].severity), group[0].code))
