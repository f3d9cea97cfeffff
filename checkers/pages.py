"""The pages of `docs/rules`: a rule each, with its examples and the reports that the checker gives of them.

`python -m tests.references.rules` writes them, and a test holds them current.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers.check import check, summary
from checkers.explain import FAULTS_PAGE, cell, find, headline, page_name, prose, sections, worst
from checkers.finding import Report, fault_code
from checkers.formats.text import format as text_format
from checkers.principles import FAMILIES
from checkers.rule import Example, Rule, all_rules

if TYPE_CHECKING:
    from designspace.specfile import Loaded

INDEX = "README.md"
FIXES = ("safe", "unsafe", "display")
SPEC, CONFIG = "example.yaml", "config.json"
COMMAND = "python -m tests.references.rules"
NOTE = f"*Written by `{COMMAND}` from `checkers/rules`; edit the rule, not the page.*"


def pages() -> dict[str, str]:
    """Every page by file name."""
    return {INDEX: index(), FAULTS_PAGE: faults(), **{page_name(rule): page(rule) for rule in all_rules()}}


def page(rule: Rule) -> str:
    """The page of a rule."""
    parts = [f"# {rule.code} {rule.name}", headline(rule), f"[Fixes](../lint.md#fixes): {_fixes(rule)}."]
    parts += [f"## {title}\n\n{text}" for title, text in sections(rule) if title != "Sources"]
    parts.append("## Examples that fail\n\nBelow each stands what `sextant lint` says of it, the other rules left out.")
    parts += [_shown(example, rule) for example in rule.fails]
    parts.append("## Examples that pass")
    parts += [_shown(example, rule) for example in rule.passes]
    parts += [f"## {title}\n\n{text}" for title, text in sections(rule) if title == "Sources"]
    parts += [
        "## Elsewhere\n\n"
        f'`sextant explain {rule.code}` prints this without the reports. `ignore = ["{rule.code}"]` or'
        f' `severity = {{{rule.code} = "info"}}` in a settings file changes it for a team, and'
        f' `lint: {{ignore: [{{rule: {rule.code}, reason: "..."}}]}}` in a spec for one place'
        " ([settings](../lint.md#settings), [suppressions](../lint.md#suppressions)). [All rules](README.md).",
        NOTE,
    ]
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """The table of all rules."""
    rows = [
        f"| [{rule.code}]({page_name(rule)}) | {rule.name} | {cell(_first_sentence(rule.what))} | {rule.group} |"
        f" {rule.precision} | {worst(rule, 'new')} | {worst(rule, 'checkpoint')} | {_fixes(rule)} |"
        for rule in all_rules()
    ]
    families = [
        f"| CD{digit}xx | {family.title} | `{family.formula}` |".replace("|phi(z)|", "\\|phi(z)\\|")
        for digit, family in FAMILIES.items()
    ]
    return "\n".join(
        [
            "# Rules",
            "",
            "What each rule finds, why it matters, when it is wrong, and how to fix it. A code never changes its"
            " meaning and is never used again. The levels are the worst of each rule; needs of the target and a"
            " settings file change them ([severities and settings](../lint.md#settings)). What only a probe of the"
            f" implementation can find is on [a page of its own]({FAULTS_PAGE}).",
            "",
            "| code | name | finds | group | precision | new design | checkpoint | fixes |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            "The digit is the family:",
            "",
            "| codes | family | formula |",
            "|---|---|---|",
            *families,
            "",
            "Groups: `proof` follows from the tuple by a theorem, `suspect` is a defect unless there is a reason,"
            " `numerics` is about number formats, `advice` helps to decide, `nursery` runs only where it is named.",
            "Precision is how often a finding is right where it is given: `very-high` is proved, `low` is a heuristic.",
            "",
            NOTE,
            "",
        ]
    )


def faults() -> str:
    """The page of what probes find, which has no rule: faults of an implementation."""
    from checkers.confirmation import LIMITS

    rows = [
        f"| `{fault_code(quantity)}` | {cell(limit.fault)} | `{quantity}` {'at least' if limit.at_least else 'at most'}"
        f" {limit.bound:g} |"
        for quantity, limit in LIMITS.items()
    ]
    return "\n".join(
        [
            "# Faults of the implementation",
            "",
            "`sextant probe SPEC` and `sextant lint SPEC --probe` build the mixers of a spec and measure them. What no"
            " sound implementation does is a fault, however good the design: an error in every format, under the codes"
            " below, and exit code 1. No rule can see it, and no suppression or baseline silences it.",
            "",
            "| code | what is wrong | sound |",
            "|---|---|---|",
            *rows,
            "",
            "Differences are relative to the rms of the outputs, in float64, and the worst of the draws counts. How to"
            " fix it: compare the form with the float64 definition (`workers/coefficients.py`) at two tokens, where a"
            " difference is easy to follow. [Probes](../lint.md#probes), [all rules](README.md).",
            "",
            NOTE,
            "",
        ]
    )


@cache
def applicabilities(code: str) -> tuple[str, ...]:
    """How the fixes that a rule offers for its failing examples may be applied, the safest first."""
    rule = find(code)
    found = {
        finding.fix.applicability
        for example in rule.fails
        for finding in _report(_loaded(example), rule).findings
        if finding.fix is not None
    }
    return tuple(name for name in FIXES if name in found)


def _fixes(rule: Rule) -> str:
    return ", ".join(applicabilities(rule.code)) or "none"


def _shown(example: Example, rule: Rule) -> str:
    """The example as a file, the report of the rule on it, and its verdict."""
    loaded = _loaded(example)
    report = _report(loaded, rule)
    verdict = report.verdicts[0]
    text = text_format.render([report]).rstrip()
    reason = verdict.reason[:1].upper() + verdict.reason[1:].rstrip(".")
    told = f"{_source(example, loaded)}{verdict.verdict.capitalize()}: {prose(reason)}."
    return f"{told}\n\n```text\n{text}\n```" if report.findings else told


def _source(example: Example, loaded: "Loaded") -> str:
    """The file of the example in a fence, or its name in the catalogue."""
    if isinstance(example, str):
        return f"`{example}`\n\n"
    return f"```{'json' if loaded.document.file == CONFIG else 'yaml'}\n{_text(example)}```\n\n"


def _text(example: Mapping[str, Any]) -> str:
    from designspace.specfile import to_yaml

    if "model_type" in example:
        return json.dumps(example, indent=2) + "\n"
    return to_yaml(dict(example))


def _loaded(example: Example) -> "Loaded":
    """The candidate of the example; its places are those of the text that the page shows."""
    from designspace.document import parse
    from designspace.specfile import load_config, load_document, load_with_places

    if isinstance(example, str):
        return load_with_places(example)
    if "model_type" in example:
        return load_config(parse(_text(example), CONFIG))
    return load_document(parse(_text(example), SPEC))


def _report(loaded: "Loaded", rule: Rule) -> Report:
    """What the rule alone says: the whole report, as rules about suppressions need it, without the others' part."""
    report = check(loaded.candidate, document=loaded.document, unread=loaded.unread)
    findings = tuple(finding for finding in report.findings if finding.code == rule.code)
    verdicts = tuple(verdict for verdict in report.verdicts if verdict.code == rule.code)
    return report.model_copy(
        update={"findings": findings, "verdicts": verdicts, "summary": summary(findings, verdicts)}
    )


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def write(folder: Path) -> None:
    """Write every page into `folder`, and remove the pages of rules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    found = pages()
    for old in folder.glob("*.md"):
        if old.name not in found:
            old.unlink()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
