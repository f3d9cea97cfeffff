"""`sextant import`: a Hugging Face config.json as a spec, with the account of every key."""

from pathlib import Path
from typing import Annotated

import typer

from search.commands import screen


def import_config(
    config: Annotated[str, typer.Argument(help="A Hugging Face config.json, or - for standard input.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the spec here instead of printing it.")
    ] = None,
    output_format: screen.Format = screen.DataFormat.TEXT,
) -> None:
    """Turn a Hugging Face config.json into a spec; every key is reported as read, derived or ignored.

    \b
    Example: sextant import config.json -o spec.yaml
    """
    from designspace.document import read
    from designspace.specfile import dump, imported

    found = imported(read(config, special_numbers=True))
    text = dump(found.candidate)
    if output is not None:
        screen.save(text, output)
    account = found.model_dump(mode="json", exclude={"candidate"}, by_alias=True)
    if output_format == screen.DataFormat.JSON:
        screen.print_json({**account, "spec": found.candidate.model_dump(mode="json", by_alias=True)})
        return
    if output is None:
        typer.echo(text, nl=False)
    screen.console(stderr=output is None).print(_account(account))


def _account(account: dict[str, object]) -> object:
    rows: list[tuple[str, str, str]] = []
    for what in ("read", "derived", "ignored", "approximated"):
        entries = account[what]
        if isinstance(entries, dict):
            rows += [(what, key, str(value)) for key, value in entries.items()]
    unknown = account["unknown"]
    if isinstance(unknown, list | tuple):
        rows += [("UNKNOWN", str(key), "nobody knows what it does: look at it") for key in unknown]
    return screen.table(["", "key", "value or reason"], rows, title=f"model_type {account['model_type']}")
