"""`check`: the report of one candidate. Pure; the command line, the service and the search call this function."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from checkers import suppress
from checkers.alike import together
from checkers.finding import Fault, Finding, Fix, Place, Probed, Report, Subject, Summary, Verdict, unchecked
from checkers.fingerprints import Identities
from checkers.rule import Context, Outcome, Rule, all_rules
from checkers.settings import Settings
from checkers.severity import severity
from designspace.candidate import Candidate
from designspace.canonical import fingerprint
from designspace.measurement import Measurement

if TYPE_CHECKING:
    from designspace.document import Document  # only its `span` is used, and a search has no document

DISTRIBUTION = "sextant-search"
CACHE = 64  # selections of rules: a run has one for each settings file
RANK = {"fail": 0, "unknown": 1, "pass": 2, "inapplicable": 3}  # of a rule's answers, the first of the lowest decides

Selectors = tuple[str, ...]


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
    rules = _chosen(settings.select, settings.extend_select, settings.ignore)
    context = Context(candidate, tuple(measurements), unread=tuple(unread), thresholds=settings.thresholds)
    found = suppress.suppressions(candidate)

    beyond = _beyond(candidate)
    judged = {
        rule.code: beyond if beyond and rule.reads_stack else (*_of_mixers(rule, beyond), *rule.check(context))
        for rule in rules
        if rule.stage == "spec"
    }
    finder = _Finder(context, settings, Identities(candidate), document)
    findings = suppress.silenced(finder.findings(rules, judged), found)

    last = replace(context, unused=suppress.unused(findings, found, rules))
    late = {rule.code: tuple(rule.check(last)) for rule in rules if rule.stage == "report"}
    findings += suppress.silenced(finder.findings(rules, late), found)

    verdicts = tuple(_verdict(rule, (judged | late)[rule.code]) for rule in rules)
    ordered = together(findings)
    report = Report(
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
        faults=_faults(context, document),
        measured=len(context.measurements),
        layers=tuple(block.repeat for block in candidate.blocks),
    )
    context.release()
    return report


def _faults(context: Context, document: "Document | None") -> tuple[Fault, ...]:
    if not context.measurements:
        return ()
    from checkers import confirmation  # nothing to compare in most checks

    found = confirmation.faults(context)
    if document is None:
        return found
    return tuple(one.model_copy(update={"span": _place(document, one.path)}) for one in found)


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
    return beyond if rule.about_mixers else ()


@lru_cache(CACHE)
def _chosen(select: Selectors, extend_select: Selectors, ignore: Selectors) -> tuple[Rule, ...]:
    """The rules that run."""
    settings = Settings(select=select, extend_select=extend_select, ignore=ignore)
    return tuple(rule for rule in all_rules() if settings.runs(rule))


@cache
def _default_settings() -> Settings:
    return Settings()


@cache
def _tool_version() -> str:
    from importlib.metadata import version  # 20 ms to import

    return version(DISTRIBUTION)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Makes the findings of one report."""

    context: Context
    settings: Settings
    identities: Identities
    document: "Document | None"

    def findings(self, rules: Sequence[Rule], judged: dict[str, tuple[Outcome, ...]]) -> list[Finding]:
        return [
            self.finding(rule, outcome)
            for rule in rules
            for outcome in judged.get(rule.code, ())
            if outcome.kind is not None
        ]

    def finding(self, rule: Rule, outcome: Outcome) -> Finding:
        if outcome.kind is None:
            raise ValueError(f"{rule.code}: an outcome without a `kind` is no finding.")
        level = severity(outcome.kind, self.context.target, lowered=outcome.lowered)
        return unchecked(
            Finding,
            code=rule.code,
            name=rule.name,
            principle=rule.principle,
            severity=self.settings.mapped(rule, level),
            path=outcome.path,
            span=None if self.document is None else _place(self.document, outcome.path),
            message=outcome.reason,
            evidence=dict(outcome.evidence),
            assumptions=outcome.assumptions,
            sources=outcome.sources or rule.references,
            fix=outcome.fix or (_displayed(rule.fix) if outcome.answer == "fail" else None),
            suppressed=None,
            fingerprint=self.identities.fingerprint(rule, outcome.path),
            probe=_probed(rule, outcome, self.context),
            also=(),
        )


@cache
def _displayed(note: str) -> Fix:
    return Fix(applicability="display", edits=(), note=note)


def _place(document: "Document", path: str) -> Place:
    span = document.span(path)
    return Place(file=span.file, line=span.line, column=span.column, end_line=span.end_line, end_column=span.end_column)


def _verdict(rule: Rule, outcomes: tuple[Outcome, ...]) -> Verdict:
    """The answer over all mixers: one fail is a fail, one unknown is unknown; unknown never reads as pass."""
    if not outcomes:
        return _answered(rule, Outcome("inapplicable", "", "nothing in this candidate to judge"))
    if len(outcomes) == 1:
        return _answered(rule, outcomes[0])
    worst = min(outcomes, key=_rank)
    others = {outcome.reason for outcome in outcomes if outcome.answer == worst.answer}
    return _answered(rule, worst, others=len(others) - 1)


def _rank(outcome: Outcome) -> int:
    return RANK[outcome.answer]


def _answered(rule: Rule, deciding: Outcome, *, others: int = 0) -> Verdict:
    """The verdict of the outcome that decides; `others` answer alike for other reasons."""
    reason = f"{deciding.reason} ({others} more alike)" if others else deciding.reason
    return unchecked(
        Verdict,
        code=rule.code,
        name=rule.name,
        principle=rule.principle,
        verdict="unknown" if deciding.answer == "inapplicable" else deciding.answer,
        reason=f"not applicable: {reason}" if deciding.answer == "inapplicable" else reason,
        path=deciding.path,
        evidence=dict(deciding.evidence),
    )


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
