"""`sextant rule CODE`: the documentation of a rule, from its own file, as text, JSON data or Markdown."""

import textwrap
from typing import Any

from checkers.principles import FAMILIES
from checkers.rule import Example, Rule, all_rules
from checkers.severity import TABLE, Kind
from checkers.thresholds import DEFAULTS, Threshold, listed
from designspace.errors import SpecError
from designspace.events import nearest, quoted

WIDTH = 110


def find(selector: str) -> Rule:
    """The rule with this code (in either case) or name.

    Raises:
        SpecError: there is none; the message names the nearest.
    """
    known = {key: rule for rule in all_rules() for key in (rule.code, rule.name)}
    found = known.get(selector) or known.get(selector.upper())
    if found is not None:
        return found
    close = nearest(selector, known)
    remedy = f"did you mean `{close}`?" if close else "`sextant rules` lists them."
    raise SpecError(f"no rule is called {quoted(selector)}; {remedy}")


def as_data(rule: Rule) -> dict[str, Any]:
    """The documentation of a rule as plain data."""
    return {
        "code": rule.code,
        "name": rule.name,
        "principle": rule.principle,
        "family": FAMILIES[rule.principle].title,
        "formula": FAMILIES[rule.principle].formula,
        "group": rule.group,
        "precision": rule.precision,
        "severities": [_severity(kind) for kind in rule.kinds],
        "what": rule.what,
        "why": rule.why,
        "exceptions": list(rule.exceptions),
        "fix": rule.fix,
        "fields_read": list(rule.fields_read),
        "thresholds": [_threshold(one) for one in listed(DEFAULTS) if one.rule == rule.name],
        "references": list(rule.references),
        "passes": [_example(example) for example in rule.passes],
        "fails": [_example(example) for example in rule.fails],
    }


def _threshold(one: Threshold) -> dict[str, Any]:
    value = list(one.value) if isinstance(one.value, tuple) else one.value
    key = f"thresholds.{one.rule}.{one.key}"
    return {"key": key, "default": value, "unit": one.unit, "allowed": one.allowed, "what": one.description}


def _limit(row: dict[str, Any]) -> str:
    return f"{row['key']} = {_flow(row['default'])} {row['unit']} ({row['what']}; allowed: {row['allowed']})"


def _severity(kind: Kind) -> dict[str, str | None]:
    row = TABLE[kind]
    return {"kind": kind.value, "new": row.new, "checkpoint": row.checkpoint, "changed": row.changed}


def as_text(rule: Rule) -> str:
    """The documentation of a rule for a terminal."""
    data = as_data(rule)
    lines = [
        f"{rule.code} {rule.name}",
        f"P{rule.principle} {data['family']}  [{data['formula']}]",
        f"group {rule.group}, precision {rule.precision}",
        "",
        *_section("What", rule.what),
        *_section("Why", rule.why),
        *(line for text in rule.exceptions for line in _section("Exception", text)),
        *_section("Fix", rule.fix),
        *(line for row in data["severities"] for line in _section("Severity", _levels(row))),
        *_section("Reads", ", ".join(rule.fields_read)),
        *(line for row in data["thresholds"] for line in _section("Setting", _limit(row))),
        *_section("Sources", "; ".join(rule.references)),
        *(line for example in rule.passes for line in _section("Passes", _flow(example))),
        *(line for example in rule.fails for line in _section("Fails", _flow(example))),
    ]
    return "\n".join(lines) + "\n"


def as_markdown(rule: Rule) -> str:
    """The documentation of a rule as Markdown, for help texts and pages."""
    data = as_data(rule)
    parts = [
        f"# {rule.code} {rule.name}",
        f"P{rule.principle} {data['family']}: `{data['formula']}`. Group {rule.group}, precision {rule.precision}.",
        f"**What.** {rule.what}",
        f"**Why.** {rule.why}",
        "**Exceptions**\n" + "\n".join(f"- {text}" for text in rule.exceptions),
        f"**Fix.** {rule.fix}",
        "**Severity**\n" + "\n".join(f"- {_levels(row)}" for row in data["severities"]),
        "**Reads** " + ", ".join(f"`{path}`" for path in rule.fields_read),
        *(
            ["**Settings**\n" + "\n".join(f"- {_limit(row)}" for row in data["thresholds"])]
            if data["thresholds"]
            else []
        ),
        "**Passes**\n" + "\n".join(f"- `{_flow(example)}`" for example in rule.passes),
        "**Fails**\n" + "\n".join(f"- `{_flow(example)}`" for example in rule.fails),
        "**Sources** " + "; ".join(rule.references),
    ]
    return "\n\n".join(parts) + "\n"


def _levels(row: dict[str, str | None]) -> str:
    changed = f", {row['changed']} by target" if row["changed"] else ""
    return f"{row['kind']}: {row['new']} (checkpoint {row['checkpoint']}{changed})"


def _section(title: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{title:<11}", subsequent_indent=" " * 11, break_on_hyphens=False)


def _example(example: Example) -> Any:
    return example if isinstance(example, str) else dict(example)


def _flow(value: Any) -> str:
    """A spec fragment in one line of YAML."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:g}"
        case list() | tuple():
            return "[" + ", ".join(_flow(item) for item in value) + "]"
        case dict():
            return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
        case _:
            return str(value)
