"""Where `sextant lint` writes its reports: the terminal or a file, in any format, with pictures where it shows them."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from checkers.finding import Report
    from checkers.format import Format, Replaced
    from checkers.picture import Picture
    from designspace.candidate import Candidate
    from designspace.specfile import Loaded

FORMATS = "checkers.formats"
DISPLAY = "display"  # the applicability of fixes that need a decision
MOST_DRAWN = 200  # candidates of a page whose stack is drawn
MOST_MAPPED = 20  # of them, those with heat maps: a tenth of a second each


@dataclass(frozen=True, slots=True)
class Output:
    """A format and where it goes; `file` None is standard output."""

    format: "Format"
    file: Path | None = None
    shows_suppressed: bool = False

    def write(self, reports: "Sequence[Report]", specs: "Sequence[Loaded]") -> None:
        """Write the reports; `specs` goes with them.

        Raises:
            SpecError: the file cannot be written.
        """
        if self.format.omits_suppressed and not self.shows_suppressed:
            reports = [report.model_copy(update={"findings": report.active}) for report in reports]
        text = self._text(reports, specs)
        if self.file is None:
            typer.echo(text, nl=False)
        else:
            _save(self.file, text)
            count = len(reports)
            typer.echo(f"{self.file}: {count:,} report{'' if count == 1 else 's'} written", err=True)

    def _text(self, reports: "Sequence[Report]", specs: "Sequence[Loaded]") -> str:
        if self.format.illustrate is not None:
            judged = [
                loaded.candidate.model_copy(update={"target": report.target})
                for report, loaded in zip(reports, specs, strict=True)
            ]
            return self.format.illustrate(reports, _pictures(judged))
        if self.format.rewrite is not None:
            replaced = [_replaced(report, loaded) for report, loaded in zip(reports, specs, strict=True)]
            return self.format.rewrite(reports, replaced)
        colour = self.file is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
        return self.format.render(reports, colour=colour)


def output(name: str, file: str | None = None, *, shows_suppressed: bool = False) -> Output:
    """Where reports go.

    Raises:
        SpecError: there is no such format.
    """
    return Output(format_named(name), None if file is None else Path(file), shows_suppressed)


def format_named(name: str) -> "Format":
    """The output format that is called `name`.

    Raises:
        SpecError: there is none; the message names the nearest.
    """
    from checkers.format import Format
    from designspace import units
    from designspace.errors import SpecError
    from designspace.events import nearest, quoted

    known = units.names(FORMATS)
    if name not in known:
        close = nearest(name, known)
        remedy = f"did you mean `{close}`?" if close else f"choose from {', '.join(known)}."
        raise SpecError(f"{quoted(name)} is no output format; {remedy}")
    return units.load_unit(FORMATS, name, "format", Format)


def _replaced(report: "Report", loaded: "Loaded") -> "Replaced":
    """What the safe and unsafe fixes replace in the file of the spec; nothing where it is not edited in place."""
    from checkers.edits import replacements
    from checkers.location import has_file
    from designspace.errors import SpecError

    fixes = {
        position: finding.fix
        for position, finding in enumerate(report.findings)
        if finding.fix is not None and finding.fix.edits and finding.fix.applicability != DISPLAY
    }
    if not fixes or not has_file(report) or loaded.document.file != report.candidate.source:
        return {}
    try:
        text = Path(loaded.document.file).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):  # it was there a moment ago
        return {}
    found = {}
    for position, fix in fixes.items():
        with suppress(SpecError):  # a fix that has no place in the text is told in words only
            found[position] = replacements(text, loaded.document, fix, candidate=loaded.candidate)
    return found


def _pictures(candidates: "Sequence[Candidate]") -> "list[Picture | None]":
    """The stack of each candidate, with the coefficients of its mixers; None beyond what a page can hold."""
    from checkers.picture import picture
    from search.commands.heatmaps import heatmaps

    drawn = [
        picture(candidate, heatmaps(candidate) if index < MOST_MAPPED else ())
        for index, candidate in enumerate(candidates[:MOST_DRAWN])
    ]
    return [*drawn, *[None] * (len(candidates) - len(drawn))]


def _save(file: Path, text: str) -> None:
    """Write the file.

    Raises:
        SpecError: it cannot be written.
    """
    from designspace.errors import SpecError

    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        message = f"cannot be written ({error.strerror or error}); check the folder and its permissions."
        raise SpecError(message, file=str(file)) from None
