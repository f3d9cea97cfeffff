"""SARIF 2.1.0 with what GitHub code scanning asks for.

A finding is a result of its rule. A fault of the implementation, which only a probe can see, is a result of a rule of
its own (`probe-later-tokens`, ...), because GitHub shows results alone: no notification of a tool becomes an alert.
Source: OASIS SARIF 2.1.0 errata 01 and its schema; docs.github.com, "SARIF support for code scanning".
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from checkers.confirmation import LIMITS, Limit
from checkers.edits import Replacement
from checkers.entries import probe_text, ranges
from checkers.explain import FAULTS_PAGE, as_markdown, as_text, fault_sentence, help_uri, page_name
from checkers.finding import Fault, Finding, Fix, Place, Report, Severity, fault_code
from checkers.format import Format, Replaced
from checkers.location import one_line, place, source_name, uri
from checkers.principles import FAMILIES
from checkers.rule import Rule, all_rules
from checkers.severity import TABLE

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
TOOL = "sextant"
CATEGORY = "sextant/"  # GitHub takes what stands before the last slash
BASELINE = "baseline "  # what `checkers.baseline` begins its reasons with
TEXT_LIMIT = 1024  # characters of a description, GitHub
MOST_RESULTS = 25_000  # of a run; GitHub refuses a run with more, and shows 5,000
DIGITS = 16  # of the fingerprint of a fault
LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
PROBLEMS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "recommendation"}
WORST_FIRST: tuple[Severity, ...] = get_args(Severity)


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - SARIF has no colour
    """One run that holds every finding of every report; silenced findings carry their suppression."""
    return rewrite(reports, [{}] * len(reports))


def rewrite(reports: Sequence[Report], replaced: Sequence[Replaced]) -> str:
    """The same with what each fix replaces in the files.

    The text is one line: it is for programs, and indenting the log of 1,000 specs takes longer than checking them.
    """
    return json.dumps(log(reports, replaced), ensure_ascii=False) + "\n"


def log(reports: Sequence[Report], replaced: Sequence[Replaced] = ()) -> dict[str, Any]:
    """The SARIF log as plain data, keys in a fixed order."""
    documented = _documented()
    indices = {rule["id"]: index for index, rule in enumerate(documented)}
    versions = sorted({report.tool_version for report in reports})
    results = list(_results(reports, replaced or [{}] * len(reports), indices))
    kept = _worst(results)
    run = {
        "tool": {
            "driver": {
                "name": TOOL,
                **({"semanticVersion": versions[-1]} if versions else {}),
                "rules": list(documented),
            }
        },
        "automationDetails": {"id": CATEGORY},
        "columnKind": "unicodeCodePoints",
        "results": kept,
    }
    if len(kept) < len(results):
        run["invocations"] = [_cut(len(results) - len(kept))]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


@cache
def _documented() -> tuple[dict[str, Any], ...]:
    """Every rule, then every fault that a probe may find."""
    return (*map(_rule, all_rules()), *(_fault_rule(quantity, limit) for quantity, limit in LIMITS.items()))


def _rule(rule: Rule) -> dict[str, Any]:
    worst = min((TABLE[kind].new for kind in rule.kinds), key=WORST_FIRST.index)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": _shortened(f"{rule.name}: {rule.what.split('. ')[0].rstrip('.')}.")},
        "fullDescription": {"text": _shortened(f"{rule.what} {rule.why}")},
        "help": {"text": as_text(rule), "markdown": as_markdown(rule)},
        **_help_uri(page_name(rule)),
        "defaultConfiguration": {"level": LEVELS[worst]},
        "properties": {
            "tags": sorted({rule.group, f"P{rule.principle}", FAMILIES[rule.principle].title}),
            "precision": rule.precision,
            "problem.severity": PROBLEMS[worst],
        },
    }


def _fault_rule(quantity: str, limit: Limit) -> dict[str, Any]:
    code = fault_code(quantity)
    text = fault_sentence(quantity, limit)
    return {
        "id": code,
        "name": code,
        "shortDescription": {"text": f"{code}: {limit.fault}."},
        "fullDescription": {"text": text.replace("`", "")},
        "help": {"text": text.replace("`", ""), "markdown": text},
        **_help_uri(FAULTS_PAGE),
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["implementation", "probe"], "precision": "very-high", "problem.severity": "error"},
    }


def _help_uri(page: str) -> dict[str, str]:
    found = help_uri(page)
    return {} if found is None else {"helpUri": found}


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT - 3]}..."


def _results(
    reports: Sequence[Report], replaced: Sequence[Replaced], indices: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Every finding and fault. Equal fingerprints within a file are told apart by their order."""
    seen: Counter[tuple[str, str]] = Counter()
    for report, replacements in zip(reports, replaced, strict=True):
        for position, finding in enumerate(report.findings):
            seen[uri(report), finding.fingerprint] += 1
            ordinal = seen[uri(report), finding.fingerprint]
            result = _result(
                finding, report, index=indices[finding.code], fingerprint=f"{finding.fingerprint}:{ordinal}"
            )
            yield result | _details(finding, report, replacements.get(position, ()))
        for fault in report.faults:
            identity = hashlib.sha256(f"{fault.code}\n{fault.path}\n{fault.quantity}".encode()).hexdigest()[:DIGITS]
            seen[uri(report), identity] += 1
            fingerprint = f"{identity}:{seen[uri(report), identity]}"
            result = _result(fault, report, index=indices[fault.code], fingerprint=fingerprint)
            numbers = {"probe": fault.probe, "quantity": fault.quantity, "value": fault.value, "limit": fault.limit}
            yield result | {"properties": {**numbers, "candidate": report.candidate.fingerprint}}


def _result(one: Finding | Fault, report: Report, *, index: int, fingerprint: str) -> dict[str, Any]:
    """What findings and faults have in common. The message comes first: its first sentence is a title on GitHub."""
    probed = one.probe if isinstance(one, Finding) else None
    also = one.also if isinstance(one, Finding) else ()
    paths = (one.path, *(other.path for other in also))
    related = [_location(other.path, place(other, report), report) for other in also]
    text = f"{one.message.rstrip('.')}. At {', '.join(ranges(paths))} of {source_name(report)}."
    text += "" if probed is None else f" Probe: {probe_text(probed)}."
    return {
        "ruleId": one.code,
        "ruleIndex": index,
        "level": LEVELS[one.severity],
        "message": {"text": one_line(text)},
        "locations": [_location(one.path, place(one, report), report)],
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }


def _location(path: str, region: Place, report: Report) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri(report)}, "region": _region(region)},
        "logicalLocations": [{"fullyQualifiedName": path, "kind": "member"}],
    }


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _details(finding: Finding, report: Report, replacements: Sequence[Replacement]) -> dict[str, Any]:
    """What only a finding has: what a probe says, the fix, the suppression, the numbers."""
    found: dict[str, Any] = {}
    if replacements and finding.fix is not None:
        found["fixes"] = [_fix(finding.fix, report, replacements)]
    if finding.suppressed is not None:
        external = finding.suppressed.startswith(BASELINE)
        kind = "external" if external else "inSource"
        found |= {"baselineState": "unchanged"} if external else {}
        found["suppressions"] = [{"kind": kind, "status": "accepted", "justification": finding.suppressed}]
    found["properties"] = {
        "evidence": {name: quantity.model_dump(mode="json") for name, quantity in finding.evidence.items()},
        "assumptions": list(finding.assumptions),
        "sources": list(finding.sources),
        "fix": None if finding.fix is None else finding.fix.model_dump(mode="json"),
        "candidate": report.candidate.fingerprint,
    }
    if finding.probe is not None:
        found["properties"]["probe"] = finding.probe.model_dump(mode="json")
    return found


def _fix(fix: Fix, report: Report, replacements: Sequence[Replacement]) -> dict[str, Any]:
    """What the fix replaces in the file, as the tools that apply SARIF fixes take it."""
    edits = "; ".join(
        f"remove {edit.path}" if edit.action == "remove" else f"set {edit.path} to {edit.value}" for edit in fix.edits
    )
    changes = [{"deletedRegion": _region(one.place), "insertedContent": {"text": one.inserted}} for one in replacements]
    return {
        "description": {"text": f"{fix.applicability}: {edits}."},
        "artifactChanges": [{"artifactLocation": {"uri": uri(report)}, "replacements": changes}],
    }


def _worst(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results that GitHub takes, in their order; the least serious are given up first, of those the last."""
    if len(results) <= MOST_RESULTS:
        return list(results)
    levels = list(LEVELS.values())
    order = sorted(range(len(results)), key=lambda index: levels.index(results[index]["level"]))
    kept = set(order[:MOST_RESULTS])
    return [result for index, result in enumerate(results) if index in kept]


def _cut(left_out: int) -> dict[str, Any]:
    """The run as one that says what it left out."""
    text = (
        f"{left_out:,} results are left out, the least serious first: GitHub refuses a run of more than"
        f" {MOST_RESULTS:,}. `sextant lint --format jsonl` has all."
    )
    notification = {"level": "warning", "message": {"text": text}, "descriptor": {"id": "too-many-results"}}
    return {"executionSuccessful": True, "toolExecutionNotifications": [notification]}


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render,
    media_type="application/sarif+json",
    extension="sarif",
    rewrite=rewrite,
    omits_suppressed=True,
)
