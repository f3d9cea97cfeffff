"""`sextant rules` and `sextant rule`: what the checker knows, from the rule files."""

from enum import StrEnum
from typing import Annotated

import typer

from search.commands import screen


class Format(StrEnum):
    """How a rule is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def rules(output_format: screen.Format = screen.DataFormat.TEXT) -> None:
    """List every rule with its principle and what it finds.

    \b
    Example: sextant rules
    """
    from checkers.explain import as_data
    from checkers.rule import all_rules

    if output_format == screen.DataFormat.JSON:
        screen.print_json([as_data(rule) for rule in all_rules()])
        return
    rows = [[rule.code, rule.name, rule.group, rule.precision, first_sentence(rule.what)] for rule in all_rules()]
    screen.console().print(screen.table(["code", "name", "group", "precision", "finds"], rows))


def rule(
    code: Annotated[str, typer.Argument(help="Code or name, such as CD101 or position-blind.")],
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
) -> None:
    """Explain a rule: what, why, when it is wrong, how serious it is, how to fix it, and examples of each verdict.

    \b
    Example: sextant rule CD301
    """
    from checkers import explain

    found = explain.find(code)
    match output_format:
        case Format.TEXT:
            typer.echo(explain.as_text(found), nl=False)
        case Format.MARKDOWN:
            typer.echo(explain.as_markdown(found), nl=False)
        case Format.JSON:
            screen.print_json(explain.as_data(found))


def first_sentence(text: str) -> str:
    """`text` up to its first full stop."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
