"""`check`: the report of one candidate. Pure; the command line, the service and the search call this function."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from checkers import suppress
from checkers.finding import Answer, Fault, Finding, Fix, Place, Probed, Report, Subject, Summary, Verdict
from checkers.fingerprints import fingerprinted
from checkers.rule import Context, Outcome, Rule, all_rules
from checkers.settings import Settings
from checkers.severity import severity
from designspace.candidate import Candidate
from designspace.canonical import fingerprint
from designspace.events import split_path
from designspace.measurement import Measurement

if TYPE_CHECKING:
    from designspace.document import Document  # only its `span` is used, and a search has no document

DISTRIBUTION = "sextant-search"
SHAPE = 9  # family of the rules about files, not mixers
RANK = ("fail", "unknown", "pass", "inapplicable")  # of a rule's answers, the first found decides


def check(
    candidate: Candidate,
    settings: Settings | None = None,
    *,
    document: "Document | None" = None,
    measurements: Iterable[Measurement] = (),
    unread: Iterable[str] = (),
) -> Report:
    """The report on `candidate`.

    Args:
        document: the file the candidate came from; gives every finding its line and column.
        measurements: what probes found; every finding says whether they confirm or contradict it, and what only
            a wrong implementation does is a fault.
        unread: keys of the config.json it came from that the importer does not know.
    """
    settings = settings or _default_settings()
    rules = [rule for rule in all_rules() if settings.runs(rule)]
    context = Context(candidate, tuple(measurements), unread=tuple(unread), thresholds=settings.thresholds)
    found = tuple(suppress.suppressions(candidate))

    beyond = _beyond(candidate)
    judged = {
        rule.code: beyond if beyond and rule.reads_stack else (*_of_mixers(rule, beyond), *rule.check(context))
        for rule in rules
        if rule.stage == "spec"
    }
    findings = suppress.silenced(_findings(rules, judged, context, settings, document), found)

    last = replace(context, unused=suppress.unused(findings, found, rules))
    late = {rule.code: tuple(rule.check(last)) for rule in rules if rule.stage == "report"}
    findings += suppress.silenced(_findings(rules, late, last, settings, document), found)

    verdicts = tuple(_verdict(rule, (judged | late)[rule.code]) for rule in rules)
    ordered = tuple(sorted(fingerprinted(findings, candidate), key=_position))
    return Report(
        tool_version=_tool_version(),
        candidate=Subject(
            name=candidate.name,
            fingerprint=fingerprint(candidate),
            source=None if document is None else document.file,
        ),
        target=candidate.target,
        verdicts=verdicts,
        findings=ordered,
        summary=summary(ordered, verdicts),
        faults=_faults(context),
    )


def _faults(context: Context) -> tuple[Fault, ...]:
    if not context.measurements:
        return ()
    from checkers import confirmation  # nothing to compare in most checks

    return confirmation.faults(context)


def _probed(rule: Rule, outcome: Outcome, context: Context) -> Probed | None:
    if not context.measurements:
        return None
    from checkers import confirmation  # nothing to compare in most checks

    return confirmation.probed(rule.name, context, outcome.path)


def _beyond(candidate: Candidate) -> tuple[Outcome, ...]:
    """What every rule of a principle answers for a mixer outside the grammar."""
    return tuple(Outcome("unknown", path, f"outside the grammar: {one.reason}") for path, one in candidate.outside())


def _of_mixers(rule: Rule, beyond: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """Rules about files have nothing to say of a mixer outside the grammar."""
    return beyond if rule.principle < SHAPE else ()


@cache
def _default_settings() -> Settings:
    return Settings()


@cache
def _tool_version() -> str:
    from importlib.metadata import version  # 20 ms to import

    return version(DISTRIBUTION)


def _findings(
    rules: Sequence[Rule],
    judged: dict[str, tuple[Outcome, ...]],
    context: Context,
    settings: Settings,
    document: "Document | None",
) -> list[Finding]:
    return [
        _finding(rule, outcome, context, settings, document)
        for rule in rules
        for outcome in judged.get(rule.code, ())
        if outcome.kind is not None
    ]


def _finding(
    rule: Rule, outcome: Outcome, context: Context, settings: Settings, document: "Document | None"
) -> Finding:
    if outcome.kind is None:
        raise ValueError(f"{rule.code}: an outcome without a `kind` is no finding.")
    level = severity(outcome.kind, context.target, lowered=outcome.lowered)
    return Finding(
        code=rule.code,
        name=rule.name,
        principle=rule.principle,
        severity=settings.mapped(rule, level),
        path=outcome.path,
        span=None if document is None else _place(document, outcome.path),
        message=outcome.reason,
        evidence=dict(outcome.evidence),
        assumptions=outcome.assumptions,
        sources=outcome.sources or rule.references,
        fix=outcome.fix
        or (Fix(applicability="display", edits=(), note=rule.fix) if outcome.answer == "fail" else None),
        suppressed=None,
        probe=_probed(rule, outcome, context),
    )


def _place(document: "Document", path: str) -> Place:
    span = document.span(path)
    return Place(file=span.file, line=span.line, column=span.column, end_line=span.end_line, end_column=span.end_column)


def _verdict(rule: Rule, outcomes: tuple[Outcome, ...]) -> Verdict:
    """The answer over all mixers: one fail is a fail, one unknown is unknown; unknown never reads as pass."""
    if not outcomes:
        return _answered(rule, "unknown", "not applicable: nothing in this candidate to judge")
    worst = min((outcome.answer for outcome in outcomes), key=RANK.index)
    like = [outcome for outcome in outcomes if outcome.answer == worst]
    reasons = list(dict.fromkeys(outcome.reason for outcome in like))
    reason = reasons[0] if len(reasons) == 1 else f"{reasons[0]} ({len(reasons) - 1} more alike)"
    if worst == "inapplicable":
        return _answered(rule, "unknown", f"not applicable: {reason}")
    return _answered(rule, worst, reason)


def _answered(rule: Rule, answer: Answer, reason: str) -> Verdict:
    return Verdict(code=rule.code, name=rule.name, principle=rule.principle, verdict=answer, reason=reason)


def _position(finding: Finding) -> tuple[list[tuple[bool, int, str]], str, str]:
    """Sort key: place in the spec (blocks[10] after blocks[2]), then code."""
    parts = [
        (isinstance(part, str), part if isinstance(part, int) else 0, str(part)) for part in split_path(finding.path)
    ]
    return parts, finding.code, finding.message


def summary(findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> Summary:
    """Counts of the findings that nothing silences, and of the verdicts."""
    levels = [finding.severity for finding in findings if finding.suppressed is None]
    answers = [verdict.verdict for verdict in verdicts]
    return Summary(
        errors=levels.count("error"),
        warnings=levels.count("warning"),
        infos=levels.count("info"),
        passed=answers.count("pass"),
        unknown=answers.count("unknown"),
    )
