"""`sextant diff`, `new` and `schema`: specs compared, begun and described."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.commands import screen

if TYPE_CHECKING:
    from designspace.candidate import Candidate

Spec = Annotated[str, typer.Argument(help="A spec file, a config.json, catalogue:NAME, or - for standard input.")]
Value = str | int | float | bool | None


class SchemaOf(StrEnum):
    """What `sextant schema` describes."""

    SPEC = "spec"
    SPACE = "space"


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A spec, as for lint.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another spec.")],
    output_format: screen.Format = screen.DataFormat.TEXT,
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
    if output_format == screen.DataFormat.JSON:
        changes = [{"path": path, "a": a, "b": b} for path, a, b in rows]
        screen.print_json({"same_fingerprint": same, "differences": changes})
        return
    if rows:
        screen.console().print(screen.table(["field", first, second], [[path, a, b] for path, a, b in rows]))
    verdict = "the same function" if same else "not the same function by the known equivalences"
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
        screen.save(text, output)


def schema(
    of: Annotated[SchemaOf, typer.Argument(help="Spec files or space files.")] = SchemaOf.SPEC,
) -> None:
    """Print the JSON Schema of spec or space files, for editors.

    \b
    Example: sextant schema spec
    """
    match of:
        case SchemaOf.SPEC:
            screen.print_json(spec_schema())
        case SchemaOf.SPACE:
            screen.print_json(space_schema())


def spec_schema() -> dict[str, Any]:
    """JSON Schema of a spec file: a candidate, or one mixer; a mixer may build on the catalogue."""
    from designspace import catalogue
    from designspace.candidate import Candidate

    found = Candidate.model_json_schema()
    mixer = found["$defs"]["MixerSpec"]
    mixer["properties"] = {"use": {"enum": list(catalogue.names())}, **mixer["properties"]}
    found["properties"]["mixer"] = {"$ref": "#/$defs/MixerSpec"}
    found["required"] = []
    found["anyOf"] = [{"required": ["blocks"]}, {"required": ["mixer"]}]
    return found


def space_schema() -> dict[str, Any]:
    """JSON Schema of a space file: the settings of the search, and a spec in which every value may be a hole."""
    from search.space import CANDIDATE_KEYS, Settings

    found = Settings.model_json_schema()
    hole = "As in a spec; any value may be {choice: [...]} or {range: [lo, hi], log: bool, int: bool}."
    found["title"] = "Space"
    found["properties"] |= {key: {"description": hole} for key in sorted(CANDIDATE_KEYS)}
    return found
