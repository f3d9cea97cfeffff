"""`sextant lint`: the report on every spec given, and an exit code that a script can trust."""

import os
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

if TYPE_CHECKING:
    from checkers.finding import Report
    from checkers.settings import Settings
    from designspace.candidate import Candidate
    from designspace.errors import SpecError
    from designspace.specfile import Loaded

FORMATS = "checkers.formats"
SPEC_SUFFIXES = (".yaml", ".yml", ".json")
EXIT_FINDINGS = 1
EXIT_BAD_INPUT = 2


class Threshold(StrEnum):
    """The least serious finding that fails the command."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


def lint(
    specs: Annotated[
        list[str],
        typer.Argument(help="Spec files, folders of them, config.json files, catalogue:NAME, or - for standard input."),
    ],
    output_format: Annotated[
        str, typer.Option("--format", help="A file of checkers/formats: text, json, ...")
    ] = "text",
    select: Annotated[str, typer.Option(help="Rules to run: codes, prefixes or names, separated by commas.")] = "ALL",
    ignore: Annotated[str, typer.Option(help="Rules to leave out, written like --select.")] = "",
    fail_on: Annotated[
        Threshold, typer.Option(help="The least serious finding that gives exit code 1.")
    ] = Threshold.ERROR,
    seq_len: Annotated[int | None, typer.Option(help="Judge for this length instead of the spec's.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Judge for this number format instead of the spec's.")] = None,
    need: Annotated[list[str] | None, typer.Option(help="Judge for this need too (repeat for more).")] = None,
) -> None:
    """Check specs against the design principles of arXiv 2510.09389.

    Exit code 0: nothing at or above --fail-on; 1: findings; 2: bad input or an internal error. The good files of a
    folder are reported even where others cannot be read.

    \b
    Example: sextant lint catalogue:softmax_nope
    Example: sextant lint my.yaml config.json --format json --fail-on warning
    """
    from checkers.check import check

    render = formatter(output_format)
    settings = _settings(select, ignore)
    found, broken = _loaded(specs)
    reports = [
        check(
            retargeted(loaded.candidate, seq_len=seq_len, dtype=dtype, needs=tuple(need or ())),
            settings,
            document=loaded.document,
            unread=loaded.unread,
            approximated=loaded.approximated,
        )
        for loaded in found
    ]
    if reports:
        typer.echo(render(reports), nl=False)
    for error in broken:
        typer.echo(f"error: {error}", err=True)
    if broken:
        raise typer.Exit(EXIT_BAD_INPUT)
    if any(_fails(report, fail_on) for report in reports):
        raise typer.Exit(EXIT_FINDINGS)


def _loaded(specs: Sequence[str]) -> "tuple[list[Loaded], list[SpecError]]":
    """Every spec that can be read, and the errors of the others in the folders.

    Raises:
        SpecError: a spec that is named itself cannot be read, or a folder has none.
    """
    from designspace.errors import SpecError
    from designspace.specfile import load_with_places

    loaded: list[Loaded] = []
    broken: list[SpecError] = []
    for spec in specs:
        if not Path(spec).is_dir():
            loaded.append(load_with_places(spec))
            continue
        count = len(loaded) + len(broken)
        for path in _spec_files(spec):
            try:
                if _is_spec(path):
                    loaded.append(load_with_places(path))
            except SpecError as error:
                broken.append(error)
        if len(loaded) + len(broken) == count:
            raise SpecError(f"the folder has no spec file ({', '.join(SPEC_SUFFIXES)}); name another.", file=spec)
    return loaded, broken


def formatter(name: str) -> "Callable[[Sequence[Report]], str]":
    """The renderer of an output format.

    Raises:
        SpecError: there is no such format.
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
    render = units.load_unit(FORMATS, name, "format", Format).render
    return partial(render, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ)


def retargeted(
    candidate: "Candidate", *, seq_len: int | None = None, dtype: str | None = None, needs: tuple[str, ...] = ()
) -> "Candidate":
    """The candidate, to be judged for another target.

    Raises:
        SpecError: a value of the target is not allowed.
    """
    changes = {"seq_len": seq_len, "dtype": dtype, "needs": [*candidate.target.needs, *needs] if needs else None}
    given = {key: value for key, value in changes.items() if value is not None}
    if not given:
        return candidate
    from designspace.document import parse
    from designspace.specfile import to_yaml
    from designspace.target import Target
    from designspace.validation import validate

    document = parse(to_yaml({**candidate.target.model_dump(mode="json"), **given}), "command line")
    return candidate.model_copy(update={"target": validate(document, Target)})


def _spec_files(folder: str) -> list[Path]:
    """Every file of the folder that may be a spec by its name."""
    return sorted(path for path in Path(folder).rglob("*") if path.suffix in SPEC_SUFFIXES and path.is_file())


def _is_spec(path: Path) -> bool:
    """The file is a spec or a config.json; one that is neither (a space file too) is named on standard error.

    Raises:
        SpecError: it cannot be read.
    """
    from designspace.document import read
    from designspace.specfile import is_config, is_spec

    document = read(path, special_numbers=True)
    found = is_spec(document) or is_config(document)
    if not found:
        typer.echo(f"{path}: skipped, neither a spec nor a config.json", err=True)
    return found


def _settings(select: str, ignore: str) -> "Settings":
    from checkers.settings import Settings

    return Settings(select=_codes(select), ignore=_codes(ignore))


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _fails(report: "Report", threshold: Threshold) -> bool:
    from checkers.finding import Severity

    levels = get_args(Severity)  # from error down
    if threshold == Threshold.NEVER:
        return False
    failing = levels[: levels.index(threshold.value) + 1]
    return any(finding.severity in failing for finding in report.active)
