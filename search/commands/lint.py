"""`sextant lint`: the report on every spec given, and an exit code that a script can trust."""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from search.commands.baseline import Mode, with_baseline
from search.commands.fix import Request, with_fixes
from search.commands.output import output
from search.commands.probe import SEEDS, measuring
from search.commands.settings import show_settings

if TYPE_CHECKING:
    from checkers.finding import Report
    from checkers.settings_file import Resolver
    from designspace.candidate import Candidate
    from designspace.document import Document
    from designspace.errors import SpecError
    from designspace.specfile import Loaded

SPEC_SUFFIXES = (".yaml", ".yml", ".json")
EXIT_FINDINGS = 1
EXIT_BAD_INPUT = 2


class Threshold(StrEnum):
    """The least serious finding that fails the command."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, which would walk the reports of 1,000 files again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_uncollected()
def lint(
    specs: Annotated[
        list[str],
        typer.Argument(help="Spec files, folders of them, config.json files, catalogue:NAME, or - for standard input."),
    ],
    output_format: Annotated[
        str,
        typer.Option(
            "--format", help="text, concise, json, jsonl, sarif, github, markdown, junit or html (checkers/formats)."
        ),
    ] = "text",
    output_file: Annotated[
        str | None, typer.Option("--output", metavar="FILE", help="Write the reports there, not to standard output.")
    ] = None,
    show_suppressed: Annotated[
        bool, typer.Option("--show-suppressed", help="Keep silenced findings in sarif, with their reasons.")
    ] = False,
    select: Annotated[
        str | None, typer.Option(help="Rules to run: codes, prefixes or names, separated by commas [default: ALL].")
    ] = None,
    extend_select: Annotated[str | None, typer.Option(help="Rules to run too, written like --select.")] = None,
    ignore: Annotated[str | None, typer.Option(help="Rules to leave out, written like --select.")] = None,
    fail_on: Annotated[
        Threshold | None, typer.Option(help="The least serious finding that gives exit code 1 [default: error].")
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="The settings file of every spec, in place of the nearest one upwards of each.")
    ] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no settings file.")] = False,
    show: Annotated[
        bool, typer.Option("--show-settings", help="Print the settings and where each came from; check nothing.")
    ] = False,
    baseline: Annotated[
        tuple[Mode, str] | None,
        typer.Option(
            metavar="MODE FILE",
            help="write: make all findings known; use: hide known ones; prune: drop those no longer found, then use.",
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply the safe fixes to the spec files, then report what is left.")
    ] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="With --fix or --diff: the fixes that change the function too.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change as a unified diff; write nothing.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Measure the compiled mixers too: every finding says confirmed or not.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=2, help="With --probe: independent draws of each measurement.")] = SEEDS,
    seq_len: Annotated[int | None, typer.Option(help="Judge for this length instead of the spec's.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Judge for this number format instead of the spec's.")] = None,
    need: Annotated[list[str] | None, typer.Option(help="Judge for this need too (repeat for more).")] = None,
) -> None:
    """Check specs against the design principles of arXiv 2510.09389.

    Exit code 0: nothing at or above --fail-on; 1: findings; 2: bad input or an internal error. The good files of a
    folder are reported even where others cannot be read. Settings stand in the nearest sextant.toml, or pyproject.toml
    with [tool.sextant]; the command line wins over it. With --baseline use, entries no longer found fail too.

    \b
    Example: sextant lint catalogue:softmax_nope
    Example: sextant lint my.yaml config.json --format json --fail-on warning
    Example: sextant lint my.yaml --format html --output report.html
    Example: sextant lint my.yaml --isolated --show-settings
    Example: sextant lint my.yaml --baseline write known.json
    Example: sextant lint my.yaml --diff --unsafe-fixes
    Example: sextant lint my.yaml --probe --seeds 4
    """
    from checkers.check import check

    reporting = output(output_format, output_file, shows_suppressed=show_suppressed)
    settings_of = _settings(select, extend_select, ignore, fail_on, config=config, isolated=isolated)
    if show:
        show_settings(_files(specs), settings_of, output_format)
        return
    found, broken = _loaded(specs)
    if probe:
        gc.enable()  # modules and their gradients are large
    measure = measuring(seeds)

    def judge(loaded: "Loaded") -> "Report":
        candidate = retargeted(loaded.candidate, seq_len=seq_len, dtype=dtype, needs=tuple(need or ()))
        return check(
            candidate,
            settings_of(loaded.document.file).settings,
            document=loaded.document,
            measurements=measure(candidate) if probe else (),
            unread=loaded.unread,
        )

    found, contradicted = with_fixes(found, judge, Request(fix, unsafe_fixes, diff, any((seq_len, dtype, need))))
    broken += contradicted
    reports = [judge(loaded) for loaded in found]
    reports, is_stale = with_baseline(reports, baseline)
    if reports and not diff:
        reporting.write(reports, found)
    for error in broken:
        typer.echo(f"error: {error}", err=True)
    if broken:
        raise typer.Exit(EXIT_BAD_INPUT)
    limits = [Threshold(settings_of(loaded.document.file).fail_on) for loaded in found]
    if any(map(_fails, reports, limits)) or (is_stale and any(limit != Threshold.NEVER for limit in limits)):
        raise typer.Exit(EXIT_FINDINGS)


def _loaded(specs: Sequence[str]) -> "tuple[list[Loaded], list[SpecError]]":
    """Every spec that can be read, and the errors of the others in the folders.

    Raises:
        SpecError: a spec that is named itself cannot be read, or a folder has none.
    """
    from designspace.document import read
    from designspace.errors import SpecError
    from designspace.specfile import load_read, load_with_places

    loaded: list[Loaded] = []
    broken: list[SpecError] = []
    for spec in specs:
        if not os.path.isdir(spec):  # False, not an error, for a name that no file can have
            loaded.append(load_with_places(spec))
            continue
        count = len(loaded) + len(broken)
        for path in _spec_files(spec):
            try:
                document = read(path, special_numbers=True)
                if _is_spec(document):
                    loaded.append(load_read(document))
            except SpecError as error:
                broken.append(error)
        if len(loaded) + len(broken) == count:
            raise SpecError(f"the folder has no spec file ({', '.join(SPEC_SUFFIXES)}); name another.", file=spec)
    return loaded, broken


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


def _is_spec(document: "Document") -> bool:
    """The document is a spec or a config.json; one that is neither (a space file too) is named on standard error."""
    from designspace.specfile import is_config, is_spec

    found = is_spec(document) or is_config(document)
    if not found:
        typer.echo(f"{document.file}: skipped, neither a spec nor a config.json", err=True)
    return found


def _files(specs: Sequence[str]) -> list[str]:
    """The specs with each folder written out."""
    return [
        str(path) for spec in specs for path in (_spec_files(spec) if spec != "-" and os.path.isdir(spec) else [spec])
    ]


def _settings(
    select: str | None,
    extend_select: str | None,
    ignore: str | None,
    fail_on: Threshold | None,
    *,
    config: str | None,
    isolated: bool,
) -> "Resolver":
    """What gives each spec its settings.

    Raises:
        SpecError: a settings file is named and none is to be read, or a selector names no rule.
    """
    from checkers.settings import check_selectors
    from checkers.settings_file import Overrides, resolver
    from designspace.errors import SpecError

    chosen, added, left_out = (None if text is None else _codes(text) for text in (select, extend_select, ignore))
    if chosen == ():
        raise SpecError("--select names no rule, so none would run; name some, or leave the option out.")
    for option, selectors in (("--select", chosen), ("--extend-select", added), ("--ignore", left_out)):
        check_selectors(option, selectors or ())
    overrides = Overrides(chosen, added, left_out, None if fail_on is None else fail_on.value)
    return resolver(overrides, config=config, isolated=isolated)


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _fails(report: "Report", threshold: Threshold) -> bool:
    from checkers.finding import Severity

    levels = get_args(Severity)  # from error down
    if threshold == Threshold.NEVER:
        return False
    if report.faults:
        return True
    failing = levels[: levels.index(threshold.value) + 1]
    return any(finding.severity in failing for finding in report.active)
