"""`sextant import`: a Hugging Face config.json as a spec, with the account of every key."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.commands import screen

if TYPE_CHECKING:
    from designspace.huggingface import Imported

SHOWN_RUNS = 6  # of equal items of a list in the account
VERDICTS = {
    "ok": "every layer is a point of the grammar",
    "unsupported": "part of it is outside the grammar; the rest is kept",
    "not_applicable": "it has no causal mixer",
}


def import_config(
    config: Annotated[str | None, typer.Argument(help="A Hugging Face config.json, or - for standard input.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the spec here instead of printing it.")
    ] = None,
    output_format: screen.Format = screen.DataFormat.TEXT,
    types: Annotated[bool, typer.Option("--types", help="List the model_types that can be imported.")] = False,
) -> None:
    """Turn a Hugging Face config.json into a spec, with an account of its keys.

    Every key is reported as read, defaulted, derived, approximated, ignored (with the reason) or unknown.

    \b
    Example: sextant import config.json -o spec.yaml
    Example: sextant import --types
    """
    if types:
        _list_types(output_format)
        return
    if config is None:
        raise typer.BadParameter("name a config.json, or ask for `--types`.", param_hint="CONFIG")
    from designspace.document import read
    from designspace.specfile import dump, imported

    found = imported(read(config, special_numbers=True))
    text = dump(found.candidate)
    if output is not None:
        screen.save(text, output)
    if output_format == screen.DataFormat.JSON:
        account = found.model_dump(mode="json", exclude={"candidate"}, by_alias=True)
        spec = found.candidate.model_dump(mode="json", by_alias=True)
        screen.print_json({**account, "verdict": found.verdict, "spec": spec})
        return
    if output is None:
        typer.echo(text, nl=False)
    console = screen.console(stderr=output is None)
    console.print(screen.table(["", "key", "value or reason"], [*_rows(found)]))
    for line in _summary(found):
        console.print(line)


def _list_types(output_format: screen.DataFormat) -> None:
    """Every model_type, with what its importer says of it first."""
    from designspace.huggingface.importer import described

    found = described()
    if output_format == screen.DataFormat.JSON:
        screen.print_json(found)
        return
    screen.console().print(screen.table(["model_type", "what it is"], [*map(list, found.items())]))


def _rows(found: "Imported") -> Iterator[tuple[str, str, str]]:
    """The account, key by key; the word for what became of a key stands once, before the first."""
    groups: dict[str, dict[str, Any]] = {
        "read": {key: value for key, value in found.read.items() if not _opened(key, found)},
        "defaulted": found.defaulted,
        "derived": found.derived,
        "approximated": found.approximated,
        "ignored": found.ignored,
        "UNKNOWN": dict.fromkeys(found.unknown, "nobody knows what it does: look at it"),
    }
    for name, entries in groups.items():
        for number, (key, value) in enumerate(entries.items()):
            yield "" if number else name, key, _shown(value)


def _opened(key: str, found: "Imported") -> bool:
    """The object at `key` is reported through the keys in it."""
    return any(name.startswith(f"{key}.") for name in found.read)


def _shown(value: Any) -> str:
    """A value in one cell; equal neighbours of a list are counted, and a long one ends after its first runs."""
    if not isinstance(value, list):
        return "null" if value is None else str(value)
    runs = [(item, len([*same])) for item, same in groupby(value)]
    words = [f"{count} x {item}" if count > 1 else str(item) for item, count in runs]
    more = f", ... ({len(value)} items)" if len(words) > SHOWN_RUNS else ""
    return f"[{', '.join(words[:SHOWN_RUNS])}{more}]"


def _summary(found: "Imported") -> Iterator[str]:
    """The verdict with its reasons, once each."""
    yield f"{found.model_type}: {found.verdict}, {VERDICTS[found.verdict]}."
    reasons = {one.reason: one.outside for _, one in found.candidate.outside()}
    yield from (screen.paragraph(reason, label=f"  {kind}: ") for reason, kind in reasons.items())
