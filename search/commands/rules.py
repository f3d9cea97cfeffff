"""`sextant rules` and `sextant rule`: what the checker knows, from the rule files."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.commands import screen

if TYPE_CHECKING:
    from checkers.rule import Example, Rule


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
    from checkers.rule import all_rules

    if output_format == screen.DataFormat.JSON:
        screen.print_json([described(rule) for rule in all_rules()])
        return
    rows = [[rule.code, rule.name, rule.group, rule.precision, first_sentence(rule.what)] for rule in all_rules()]
    screen.console().print(screen.table(["code", "name", "group", "precision", "finds"], rows))


def rule(
    code: Annotated[str, typer.Argument(help="Code or name, such as CD101 or position-blind.")],
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
) -> None:
    """Explain a rule: what, why, when it is wrong, how to fix it, and an example of each verdict.

    \b
    Example: sextant rule CD301
    """
    found = _named(code)
    match output_format:
        case Format.TEXT:
            typer.echo(_page(found, heading="{}", example=_indented))
        case Format.MARKDOWN:
            typer.echo(_page(found, heading="## {}", example=lambda text: f"```yaml\n{text}```"))
        case Format.JSON:
            screen.print_json(described(found))


def described(rule: "Rule") -> dict[str, Any]:
    """The rule's documentation as plain data."""
    return {
        "code": rule.code,
        "name": rule.name,
        "principle": rule.principle,
        "group": rule.group,
        "precision": rule.precision,
        "what": rule.what,
        "why": rule.why,
        "exceptions": list(rule.exceptions),
        "fix": rule.fix,
        "references": list(rule.references),
        "fields_read": list(rule.fields_read),
        "passes": [_spec(example) for example in rule.passes],
        "fails": [_spec(example) for example in rule.fails],
    }


def first_sentence(text: str) -> str:
    """`text` up to its first full stop."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def _named(code: str) -> "Rule":
    from checkers.rule import all_rules
    from designspace.errors import SpecError
    from designspace.events import nearest, quoted

    known = {key: rule for rule in all_rules() for key in (rule.code, rule.name)}
    found = known.get(code) or known.get(code.upper())
    if found is None:
        close = nearest(code, known)
        raise SpecError(
            f"{quoted(code)} is no rule; {f'did you mean `{close}`?' if close else '`sextant rules` lists them.'}"
        )
    return found


def _page(rule: "Rule", *, heading: str, example: Any) -> str:
    parts = {
        "What": screen.paragraph(rule.what),
        "Why": screen.paragraph(rule.why),
        "Exceptions": "\n".join(screen.paragraph(text, label="- ") for text in rule.exceptions),
        "Fix": screen.paragraph(rule.fix),
        "Passes": example(_yaml(rule.passes[0])) if rule.passes else "",
        "Fails": example(_yaml(rule.fails[0])) if rule.fails else "",
        "References": "\n".join(screen.paragraph(text, label="- ") for text in rule.references),
    }
    title = heading.format(f"{rule.code} {rule.name}").replace("## ", "# ")
    facts = f"principle {rule.principle}, {rule.group}, precision {rule.precision}"
    return "\n\n".join(
        [f"{title}\n{facts}", *(f"{heading.format(name)}\n{text}" for name, text in parts.items() if text)]
    )


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _yaml(example: "Example") -> str:
    from designspace.specfile import to_yaml

    return to_yaml(_spec(example)) if not isinstance(example, str) else f"{example}\n"


def _spec(example: "Example") -> Any:
    return example if isinstance(example, str) else dict(example)
