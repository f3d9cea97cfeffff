"""What the commands print with: one console, tables, JSON, and the options that several commands share."""

import json
import sys
import textwrap
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

TEXT_WIDTH = 100
PIPE_WIDTH = 160  # columns when the output is not a terminal


class DataFormat(StrEnum):
    """How a command prints data."""

    TEXT = "text"
    JSON = "json"


Format = Annotated[DataFormat, typer.Option("--format", help="How to print.")]


def console(*, stderr: bool = False) -> "Console":
    """A rich console as wide as the terminal, or `PIPE_WIDTH` in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream, width=None if stream.isatty() else PIPE_WIDTH, highlight=False, markup=False, emoji=False
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> "Table":
    """A plain table; columns whose cells are all numbers (or empty) are aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    grid = Table(*(), title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) or row[index] in (None, "") for row in rows)
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*map(cell, row))
    return grid


def cell(value: object) -> str:
    """A value as it stands in a table: integers with thousands separators, floats with four digits."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)


def paragraph(text: str, *, label: str = "") -> str:
    """`text` in lines of `TEXT_WIDTH` characters, after a label that the other lines leave room for."""
    return textwrap.fill(text, TEXT_WIDTH, initial_indent=label, subsequent_indent=" " * len(label))


def save(text: str, path: Path) -> None:
    """Write `text` to the file `path`.

    Raises:
        SpecError: it cannot be written.
    """
    from designspace.errors import SpecError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot be written ({error.strerror}); check the folder and its permissions."
        raise SpecError(message, file=str(path)) from None


def print_json(data: Any) -> None:
    """`data` as indented JSON on standard output."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
