"""`sextant rules` and `sextant rule`: what the checker knows, from the rule files."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.commands import screen

if TYPE_CHECKING:
    from checkers.confirmation import Limit
    from checkers.rule import Rule


class Format(StrEnum):
    """How a rule is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def rules(output_format: screen.Format = screen.DataFormat.TEXT) -> None:
    """List every rule: group, precision, its most serious level for a new design and for a checkpoint, what it finds.

    JSON has the whole documentation: severities, fixes, fields read, since, status, exceptions, thresholds, examples.

    \b
    Example: sextant rules
    Example: sextant rules --format json
    """
    from checkers.explain import worst
    from checkers.rule import all_rules

    if output_format == screen.DataFormat.JSON:
        screen.print_json([_data(rule) for rule in all_rules()])
        return
    rows = [
        [
            rule.code,
            rule.name,
            rule.group,
            rule.precision,
            worst(rule, "new"),
            worst(rule, "checkpoint"),
            first_sentence(rule.what),
        ]
        for rule in all_rules()
    ]
    screen.console().print(screen.table(["code", "name", "group", "precision", "new", "checkpoint", "finds"], rows))


def _data(rule: "Rule") -> dict[str, Any]:
    """The documentation of a rule, with the fixes that it offers for its own examples."""
    from checkers.explain import as_data
    from checkers.pages import applicabilities

    found = applicabilities(rule.code)
    available = any(one != "display" for one in found)
    return as_data(rule) | {"fix_available": available, "fix_applicability": list(found)}


def rule(
    code: Annotated[str, typer.Argument(help="Code or name, such as CD101, position-blind or probe-later-tokens.")],
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
) -> None:
    """Explain a rule: what, why, when it is wrong, how serious it is, how to fix it, and examples of each verdict. Also
    a fault that a probe finds.

    `sextant rule` and `sextant explain` are one command; docs/rules has the same with the reports of the examples.

    \b
    Example: sextant explain CD301
    Example: sextant explain probe-later-tokens
    Example: sextant rule score-scale --format markdown
    """
    from checkers import explain

    fault = explain.fault(code)
    if fault is not None:
        _print_fault(*fault, output_format)
        return
    found = explain.find(code)
    match output_format:
        case Format.TEXT:
            typer.echo(explain.as_text(found), nl=False)
        case Format.MARKDOWN:
            typer.echo(explain.as_markdown(found), nl=False)
        case Format.JSON:
            screen.print_json(_data(found))


def _print_fault(quantity: str, limit: "Limit", output_format: Format) -> None:
    from checkers import explain

    match output_format:
        case Format.TEXT:
            typer.echo(explain.fault_text(quantity, limit), nl=False)
        case Format.MARKDOWN:
            typer.echo(explain.fault_markdown(quantity, limit), nl=False)
        case Format.JSON:
            screen.print_json(explain.fault_data(quantity, limit))


def first_sentence(text: str) -> str:
    """`text` up to its first full stop."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
