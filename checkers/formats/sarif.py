"""SARIF 2.1.0 with what GitHub code scanning asks for.

Source: OASIS SARIF 2.1.0 errata 01 and its schema; docs.github.com, "SARIF support for code scanning".
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from checkers.explain import as_markdown, as_text
from checkers.finding import Finding, Report, Severity
from checkers.format import Format
from checkers.location import place, source_name, uri
from checkers.principles import FAMILIES
from checkers.rule import Rule, all_rules
from checkers.severity import TABLE

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
TOOL = "sextant"
CATEGORY = "sextant/"  # GitHub takes what stands before the last slash
BASELINE = "baseline "  # what `checkers.baseline` begins its reasons with
TEXT_LIMIT = 1024  # characters of a description, GitHub
LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
PROBLEMS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "recommendation"}
WORST_FIRST: tuple[Severity, ...] = get_args(Severity)


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - SARIF has no colour
    """One run that holds every finding of every report; silenced findings carry their suppression.

    The text is one line: it is for programs, and indenting the log of 1,000 specs takes longer than checking them.
    """
    return json.dumps(log(reports), ensure_ascii=False) + "\n"


def log(reports: Sequence[Report]) -> dict[str, Any]:
    """The SARIF log as plain data, keys in a fixed order."""
    rules = all_rules()
    indices = {rule.code: index for index, rule in enumerate(rules)}
    versions = sorted({report.tool_version for report in reports})
    run = {
        "tool": {
            "driver": {
                "name": TOOL,
                **({"semanticVersion": versions[-1]} if versions else {}),
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "automationDetails": {"id": CATEGORY},
        "columnKind": "unicodeCodePoints",
        "results": _results(reports, indices),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    worst = min((TABLE[kind].new for kind in rule.kinds), key=WORST_FIRST.index)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": _shortened(f"{rule.name}: {rule.what.split('. ')[0].rstrip('.')}.")},
        "fullDescription": {"text": _shortened(f"{rule.what} {rule.why}")},
        "help": {"text": as_text(rule), "markdown": as_markdown(rule)},
        "defaultConfiguration": {"level": LEVELS[worst]},
        "properties": {
            "tags": sorted({rule.group, f"P{rule.principle}", FAMILIES[rule.principle].title}),
            "precision": rule.precision,
            "problem.severity": PROBLEMS[worst],
        },
    }


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT - 3]}..."


def _results(reports: Sequence[Report], indices: Mapping[str, int]) -> list[dict[str, Any]]:
    """Every finding. Equal fingerprints within a file are told apart by their order."""
    seen: Counter[tuple[str, str]] = Counter()
    results = []
    for report in reports:
        for finding in report.findings:
            key = uri(report), finding.fingerprint
            seen[key] += 1
            results.append(_result(finding, report, index=indices[finding.code], ordinal=seen[key]))
    return results


def _result(finding: Finding, report: Report, *, index: int, ordinal: int) -> dict[str, Any]:
    where = place(finding, report)
    region = {
        "startLine": where.line,
        "startColumn": where.column,
        "endLine": where.end_line,
        "endColumn": where.end_column,
    }
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{source_name(report)}, {finding.path}: {finding.message}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": uri(report)}, "region": region},
                "logicalLocations": [{"fullyQualifiedName": finding.path, "kind": "member"}],
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": f"{finding.fingerprint}:{ordinal}"},
    }
    if finding.suppressed is not None:
        external = finding.suppressed.startswith(BASELINE)
        kind = "external" if external else "inSource"
        result |= {"baselineState": "unchanged"} if external else {}
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": finding.suppressed}]
    result["properties"] = {
        "evidence": {name: quantity.model_dump(mode="json") for name, quantity in finding.evidence.items()},
        "assumptions": list(finding.assumptions),
        "sources": list(finding.sources),
        "fix": None if finding.fix is None else finding.fix.model_dump(mode="json"),
        "candidate": report.candidate.fingerprint,
    }
    return result


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="application/sarif+json", extension="sarif", omits_suppressed=True
)
