"""The documentation of a rule, from its own file, as data, text or Markdown; `checkers.pages` makes pages of it."""

import re
import textwrap
from functools import cache
from typing import Any

from checkers.confirmation import LIMITS, Limit
from checkers.finding import Severity, fault_code
from checkers.location import LEVELS
from checkers.principles import FAMILIES
from checkers.rule import Example, Rule, all_rules
from checkers.severity import TABLE, Kind
from checkers.thresholds import DEFAULTS, Threshold, listed
from designspace.errors import SpecError
from designspace.events import nearest, quoted

WIDTH = 110
FOLDER = "docs/rules"  # of the pages, in the repository
FAULTS_PAGE = "probe-faults.md"  # in it
DISTRIBUTION = "sextant-search"
LINK = "Documentation"  # name of the project's link to `docs`, as pyproject.toml declares it
CODE_SPAN = re.compile("(`[^`]+`)")
MARKUP = re.compile(r"\\|[*~$](?=\S)|(?<=\S)[*~]|<(?=[A-Za-z/!?])")  # what Markdown would obey; `a < b` is itself


def find(selector: str) -> Rule:
    """The rule with this code (in either case) or name.

    Raises:
        SpecError: there is none; the message names the nearest.
    """
    known = {key: rule for rule in all_rules() for key in (rule.code, rule.name)}
    found = known.get(selector) or known.get(selector.upper()) or known.get(selector.lower())
    if found is not None:
        return found
    close = nearest(selector, [*known, *map(fault_code, LIMITS)])
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
        "status": rule.status,
        "since": rule.since,
        "precision": rule.precision,
        "severity": {"new": worst(rule, "new"), "checkpoint": worst(rule, "checkpoint")},
        "severities": [severity_row(kind) for kind in rule.kinds],
        "what": rule.what,
        "why": rule.why,
        "exceptions": list(rule.exceptions),
        "fix": rule.fix,
        "fields_read": list(rule.fields_read),
        "thresholds": [_threshold(one) for one in thresholds(rule)],
        "references": list(rule.references),
        "passes": [_example(example) for example in rule.passes],
        "fails": [_example(example) for example in rule.fails],
        "page": f"{FOLDER}/{page_name(rule)}",
    }


def page_name(rule: Rule) -> str:
    """The file of the rule's page."""
    return f"{rule.code}-{rule.name}.md"


def help_uri(page: str) -> str | None:
    """The address of a page of the documentation; None where the project declares no address of its own."""
    base = _documentation()
    return None if base is None else f"{base.rstrip('/')}/{FOLDER.partition('/')[2]}/{page}"


@cache
def _documentation() -> str | None:
    """The address of the folder `docs`, from the metadata of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, metadata  # 20 ms to import

    try:
        links = metadata(DISTRIBUTION).get_all("Project-URL") or []
    except PackageNotFoundError:  # run from a folder that was not installed
        return None
    named = dict(link.split(", ", 1) for link in links)
    return named.get(LINK)


def worst(rule: Rule, provenance: str) -> Severity:
    """The most serious level of the rule's findings for a `new` design or a `checkpoint`, without special needs."""
    rows = [TABLE[kind] for kind in rule.kinds]
    return min((row.new if provenance == "new" else row.checkpoint for row in rows), key=LEVELS.index)


def thresholds(rule: Rule) -> list[Threshold]:
    """The limits of the rule that a settings file may move."""
    return [one for one in listed(DEFAULTS) if one.rule == rule.name]


def _threshold(one: Threshold) -> dict[str, Any]:
    value = list(one.value) if isinstance(one.value, tuple) else one.value
    return {"key": _key(one), "default": value, "unit": one.unit, "allowed": one.allowed, "what": one.description}


def _key(one: Threshold) -> str:
    return f"thresholds.{one.rule}.{one.key}"


def severity_row(kind: Kind) -> dict[str, str | None]:
    """A row of the severity table; `when` says what makes it `changed`."""
    row = TABLE[kind]
    when = None if row.when is None else row.when.__doc__
    return {"kind": kind.value, "new": row.new, "checkpoint": row.checkpoint, "changed": row.changed, "when": when}


def as_text(rule: Rule) -> str:
    """The documentation of a rule for a terminal."""
    data = as_data(rule)
    lines = [
        f"{rule.code} {rule.name}",
        f"P{rule.principle} {data['family']}  [{data['formula']}]",
        f"group {rule.group}, precision {rule.precision}, {rule.status} since {rule.since}",
        "",
        *_section("What", rule.what),
        *_section("Why", rule.why),
        *(line for text in rule.exceptions for line in _section("Exception", text)),
        *_section("Fix", rule.fix),
        *(line for row in data["severities"] for line in _section("Severity", _levels(row))),
        *_section("Reads", ", ".join(rule.fields_read)),
        *(line for row in data["thresholds"] for line in _section("Setting", _limit(row))),
        *_section("Sources", "; ".join(rule.references)),
        *(line for example in rule.passes for line in _section("Passes", flow(example))),
        *(line for example in rule.fails for line in _section("Fails", flow(example))),
        *_section("Page", help_uri(page_name(rule)) or data["page"]),
    ]
    return "\n".join(lines) + "\n"


def as_markdown(rule: Rule) -> str:
    """The documentation of a rule as Markdown, for help texts; the page has the reports of the examples too."""
    parts = [f"# {rule.code} {rule.name}", headline(rule)]
    parts += [f"**{title}**\n\n{text}" for title, text in sections(rule)]
    parts.append("**Passes**\n\n" + "\n".join(f"- `{flow(example)}`" for example in rule.passes))
    parts.append("**Fails**\n\n" + "\n".join(f"- `{flow(example)}`" for example in rule.fails))
    return "\n\n".join(parts) + "\n"


def headline(rule: Rule) -> str:
    """Family, formula, group and precision of the rule in one line of Markdown."""
    family = FAMILIES[rule.principle]
    return (
        f"P{rule.principle} {family.title}: `{family.formula}`. Group {rule.group}, precision {rule.precision},"
        f" {rule.status} since {rule.since}."
    )


def sections(rule: Rule) -> list[tuple[str, str]]:
    """The parts of the documentation that help texts and pages share: title and Markdown."""
    table = ["| what fails | new design | checkpoint | with special needs |", "|---|---|---|---|"]
    for row in map(severity_row, rule.kinds):
        special = f"{row['changed']} if {row['when']}" if row["changed"] else ""
        table.append(f"| {cell(str(row['kind']))} | {row['new']} | {row['checkpoint']} | {special} |")
    limits = ["| key | default | unit | allowed | what it is |", "|---|---|---|---|---|"]
    for one in thresholds(rule):
        cells = (f"`{_key(one)}`", flow(one.value), *map(cell, (one.unit, one.allowed, one.description)))
        limits.append(f"| {' | '.join(cells)} |")
    found = [
        ("What", prose(rule.what)),
        ("Why", prose(rule.why)),
        ("Known exceptions", "\n".join(f"- {prose(text)}" for text in rule.exceptions)),
        ("How to fix it", prose(rule.fix)),
        ("Severity", "\n".join(table)),
        ("Reads", ", ".join(f"`{path}`" for path in rule.fields_read)),
    ]
    if thresholds(rule):
        found.append(("Settings", "\n".join(limits)))
    found.append(("Sources", "\n".join(f"- {prose(text)}" for text in rule.references)))
    return found


def prose(text: str) -> str:
    """`text` as Markdown that shows it as it is: no emphasis, formula or tag; what stands in backticks is code."""
    parts = CODE_SPAN.split(text)
    return "".join(part if index % 2 else MARKUP.sub(r"\\\g<0>", part) for index, part in enumerate(parts))


def cell(text: str) -> str:
    """`text` as Markdown in a table."""
    return prose(text).replace("|", "\\|")


def _limit(row: dict[str, Any]) -> str:
    return f"{row['key']} = {flow(row['default'])} {row['unit']} ({row['what']}; allowed: {row['allowed']})"


def _levels(row: dict[str, str | None]) -> str:
    changed = f", {row['changed']} if {row['when']}" if row["changed"] else ""
    return f"{row['kind']}: {row['new']} (checkpoint {row['checkpoint']}{changed})".replace("`", "")


def _section(title: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{title:<11}",
        subsequent_indent=" " * 11,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _example(example: Example) -> Any:
    return example if isinstance(example, str) else dict(example)


def flow(value: Any) -> str:
    """A spec fragment in one line of YAML."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:g}"
        case list() | tuple():
            return "[" + ", ".join(flow(item) for item in value) + "]"
        case dict():
            return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
        case _:
            return str(value)


def fault(code: str) -> tuple[str, Limit] | None:
    """The measured quantity and its limit for the code of a fault, such as `probe-later-tokens`; None for another."""
    return next(((quantity, limit) for quantity, limit in LIMITS.items() if fault_code(quantity) == code.lower()), None)


def fault_sentence(quantity: str, limit: Limit) -> str:
    """What is wrong where a probe finds the fault, and what a sound form has."""
    sound = f"`{quantity}` is {'at least' if limit.at_least else 'at most'} {limit.bound:g} in every sound form"
    return (
        f"{limit.fault[:1].upper()}{limit.fault[1:]}. A probe of the compiled module found it; the design of the mixer"
        f" does not matter. {sound}, over the worst of the draws. Compare the form with the float64 definition."
    )


def fault_data(quantity: str, limit: Limit) -> dict[str, Any]:
    """A fault as plain data."""
    return {
        "code": fault_code(quantity),
        "quantity": quantity,
        "what": fault_sentence(quantity, limit),
        "bound": limit.bound,
        "at_least": limit.at_least,
        "severity": "error",
        "page": f"{FOLDER}/{FAULTS_PAGE}",
    }


def fault_text(quantity: str, limit: Limit) -> str:
    """A fault for a terminal."""
    page = help_uri(FAULTS_PAGE) or f"{FOLDER}/{FAULTS_PAGE}"
    lines = [*_section("What", fault_sentence(quantity, limit)), *_section("Page", page)]
    return "\n".join((f"{fault_code(quantity)}  error, found by a probe", "", *lines)) + "\n"


def fault_markdown(quantity: str, limit: Limit) -> str:
    """A fault as Markdown."""
    return f"# {fault_code(quantity)}\n\n{fault_sentence(quantity, limit)}\n"
