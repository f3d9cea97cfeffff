"""Where findings stand: file, line and column for formats that must name them."""

import re
from functools import lru_cache
from pathlib import Path, PurePath
from posixpath import normpath
from typing import get_args
from urllib.parse import quote

from checkers.finding import Elsewhere, Fault, Finding, Place, Report, Severity

NO_FILE = "specs"  # folder of the file that a candidate without one (catalogue, search) would be written to
NOT_FILES = ("catalogue:", "<")
CACHE = 64  # files: the findings of one come one after the other
REPLACEMENT = "\ufffd"
COMMAND = re.compile(r"^\s*::|##(?=\[)")  # what a runner of GitHub takes for a command, whoever wrote the line
LEVELS: tuple[Severity, ...] = get_args(Severity)  # worst first


def one_line(text: str) -> str:
    """`text` without line breaks and without what a terminal, a browser or a log of GitHub Actions would obey."""
    shown = text if text.isprintable() else "".join(map(_printable, text))
    return COMMAND.sub(": :", shown) if "::" in shown or "##[" in shown else shown


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
    return _inside(str(report.candidate.source), Path.cwd())


@lru_cache(CACHE)
def _inside(source: str, here: Path) -> str:
    """The path of the file, relative to `here` where it lies in it."""
    path = PurePath(source)
    inside = path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path
    return normpath(inside.as_posix())


def uri(report: Report) -> str:
    """`repository_path` as a URI reference; an absolute path outside the current folder is a `file:` URI."""
    path = quote(repository_path(report), safe="/")
    return f"file://{path}" if path.startswith("/") else path


def place(one: Finding | Fault | Elsewhere, report: Report) -> Place:
    """The region of the finding or fault; the first character of the file where the candidate has no document."""
    return one.span or Place(file=source_name(report), line=1, column=1, end_line=1, end_column=2)
