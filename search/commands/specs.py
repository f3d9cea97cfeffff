"""`sextant show`, `cost`, `diff`, `new` and `schema`: a spec as a person or an editor reads it."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.commands import screen

if TYPE_CHECKING:
    from designspace.candidate import Candidate

Spec = Annotated[str, typer.Argument(help="A spec file, a config.json, catalogue:NAME, or - for standard input.")]
Format = Annotated[screen.DataFormat, typer.Option(help="How to print.")]
Value = str | int | float | bool | None


class SchemaOf(StrEnum):
    """What `sextant schema` describes."""

    SPEC = "spec"
    SPACE = "space"


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A spec, as for lint.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another spec.")],
    format: Format = screen.DataFormat.TEXT,  # noqa: A002
) -> None:
    """Compare two specs field by field, and say whether they are the same mixer.

    \b
    Example: sextant diff catalogue:deltanet catalogue:gated_deltanet
    """
    from designspace.canonical import fingerprint

    from designspace.specfile import load

    one, other = load(first), load(second)
    left, right = flat(one), flat(other)
    rows = [(path, left.get(path), right.get(path)) for path in {**left, **right} if left.get(path) != right.get(path)]
    same = fingerprint(one) == fingerprint(other)
    if format == screen.DataFormat.JSON:
        changes = [{"path": path, "a": a, "b": b} for path, a, b in rows]
        screen.print_json({"same_fingerprint": same, "differences": changes})
        return
    if rows:
        screen.console().print(screen.table(["field", first, second], [[path, a, b] for path, a, b in rows]))
    verdict = "the same function" if same else "different functions"
    typer.echo(f"{fingerprint(one)} and {fingerprint(other)}: {verdict}.")


def flat(candidate: "Candidate") -> dict[str, Value]:
    """Every leaf of the candidate by its dotted path, defaults included."""
    from designspace.events import join_path

    leaves: dict[str, Value] = {}

    def visit(value: Any, path: tuple[str | int, ...]) -> None:
        match value:
            case dict():
                for key, inner in value.items():
                    visit(inner, (*path, key))
            case list() if any(isinstance(item, dict) for item in value):
                for index, inner in enumerate(value):
                    visit(inner, (*path, index))
            case list():
                leaves[join_path(path)] = str(value)
            case _:
                leaves[join_path(path)] = value

    visit(candidate.model_dump(mode="json", by_alias=True), ())
    return leaves


def new(
    source: Annotated[str, typer.Option("--from", help="What to start from: catalogue:NAME or any spec.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; printed without it.")
    ] = None,
) -> None:
    """Write a spec with every key, each with what it means and which values it takes.

    \b
    Example: sextant new --from catalogue:gated_deltanet -o my.yaml
    """
    from designspace.specfile import load
    from search.commands.annotate import annotated

    text = annotated(load(source))
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def schema(
    of: Annotated[SchemaOf, typer.Argument(help="Spec files or space files.")] = SchemaOf.SPEC,
) -> None:
    """Print the JSON Schema of spec or space files, for editors.

    \b
    Example: sextant schema spec
    """
    match of:
        case SchemaOf.SPEC:
            from designspace.candidate import Candidate

            screen.print_json(Candidate.model_json_schema())
        case SchemaOf.SPACE:
            from search.space import Space

            screen.print_json(Space.model_json_schema())
