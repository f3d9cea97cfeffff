"""`sextant catalogue`: the published mixers, and one of them as a spec."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from search.commands import screen

if TYPE_CHECKING:
    from designspace.entry import Entry


class Format(StrEnum):
    """How the catalogue is printed."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


def catalogue(
    name: Annotated[str | None, typer.Argument(help="An entry; without it, all entries are listed.")] = None,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
) -> None:
    """List the published mixers, or show one as a spec.

    \b
    Example: sextant catalogue
    Example: sextant catalogue gated_deltanet --format yaml
    """
    if name is None:
        _list(output_format)
    else:
        _show(name, output_format)


def _list(chosen: Format) -> None:
    from designspace import catalogue as entries

    found = [entries.get(name) for name in (*entries.names(), *entries.outside_names())]
    rows = [
        {
            "name": entry.name,
            "title": entry.title,
            "source": entry.source,
            "year": entry.year,
            "representable": entry.outside is None,
        }
        for entry in found
    ]
    match chosen:
        case Format.TEXT:
            cells = [
                [entry.name, entry.title, entry.source, str(entry.year), "" if entry.outside is None else "outside"]
                for entry in found
            ]
            screen.console().print(screen.table(["name", "mixer", "source", "year", "grammar"], cells))
        case Format.JSON:
            screen.print_json(rows)
        case Format.YAML:
            from designspace.specfile import to_yaml

            typer.echo(to_yaml(rows), nl=False)


def _show(name: str, chosen: Format) -> None:
    from designspace import catalogue as entries
    from designspace.specfile import dump, record

    entry = entries.get(name)
    match chosen:
        case Format.TEXT:
            typer.echo(_description(entry))
            typer.echo(dump(entry.candidate), nl=False)
        case Format.JSON:
            facts = entry.model_dump(mode="json", exclude={"candidate"})
            screen.print_json({"name": entry.name, **facts, "spec": record(entry.candidate)})
        case Format.YAML:
            typer.echo(dump(entry.candidate), nl=False)


def _description(entry: "Entry") -> str:
    facts = {
        "source": f"{entry.authors}, {entry.year}, {entry.url}",
        "tuple": entry.equation,
        "state": entry.state,
        "known for": entry.known_for,
        "reference": entry.reference,
        "sizes": entry.sizes,
        "left out": entry.left_out,
        "also": ", ".join(entry.also),
        "outside": ""
        if entry.outside is None
        else f"not representable ({entry.outside.outside}): {entry.outside.reason}",
    }
    lines = [screen.paragraph(text, label=f"{name:<10} ") for name, text in facts.items() if text]
    return "\n".join([f"{entry.name}: {entry.title}", "", *lines, ""])
