"""`--baseline MODE FILE` of `sextant lint`: writes, uses and prunes the list of known findings."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from designspace.errors import visible

if TYPE_CHECKING:
    from checkers.baseline import Applied, Entry
    from checkers.finding import Report

SHOWN_STALE = 10


class Mode(StrEnum):
    """What to do with the file."""

    WRITE = "write"
    USE = "use"
    PRUNE = "prune"


class Known(NamedTuple):
    """Reports with the known findings silenced; `is_stale` where the file has entries that no longer hold."""

    reports: "list[Report]"
    is_stale: bool


def with_baseline(reports: "Sequence[Report]", request: tuple[Mode, str] | None) -> Known:
    """The reports as the baseline leaves them; says on standard error what it hid, wrote or found stale.

    Raises:
        SpecError: the file is no baseline, or cannot be read or written.
    """
    if request is None:
        return Known(list(reports), False)
    from checkers import baseline

    mode, path = Mode(request[0]), Path(request[1])
    if mode == Mode.USE:
        found = baseline.applied(reports, baseline.load(path), path)
        _say_use(found, path)
        return Known(found.reports, bool(found.stale))
    with baseline.exclusive(path):
        old = baseline.load(path) if mode == Mode.PRUNE or path.exists() else baseline.Baseline()
        if mode == Mode.WRITE:
            new = baseline.written(reports, old, path)
            typer.echo(f"baseline {path}: {_counted(_total(new.findings), 'finding')} written", err=True)
        else:
            stale = baseline.applied(reports, old, path).stale
            new = baseline.pruned(old, stale)
            typer.echo(f"baseline {path}: {_counted(_total(stale), 'stale finding')} removed", err=True)
        if new != old or not path.exists():
            baseline.save(path, new)
    found = baseline.applied(reports, new, path)
    if mode == Mode.PRUNE:
        _say_use(found, path)
    return Known(found.reports, False)


def _say_use(found: "Applied", path: Path) -> None:
    typer.echo(f"baseline {path}: {_counted(found.hidden, 'known finding')} hidden", err=True)
    for entry in found.stale[:SHOWN_STALE]:
        text = f"stale: {entry.source}: {entry.code} {entry.name} at {entry.path} is not found any more"
        typer.echo(visible(text), err=True)
    if found.stale:
        more = len(found.stale) - SHOWN_STALE
        rest = f"{more} more alike; " if more > 0 else ""
        typer.echo(f"{rest}remove stale entries with `--baseline prune {path}`.", err=True)


def _total(entries: "Sequence[Entry]") -> int:
    return sum(entry.count for entry in entries)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
