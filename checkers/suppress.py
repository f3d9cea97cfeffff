"""Suppressions: `lint: {ignore: [{rule, reason}]}` at the spec, a block or a mixer silences what lies there."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from checkers.finding import Finding
from checkers.rule import Rule, Unused, all_rules
from designspace.candidate import Candidate
from designspace.events import nearest
from designspace.suppression import Lint, Suppression


@dataclass(frozen=True, slots=True)
class Located:
    """A suppression, its own path, and the path it covers (empty: the whole spec)."""

    suppression: Suppression
    path: str
    scope: str

    def covers(self, finding: Finding) -> bool:
        """The finding is of the named rule and stands in the scope; a finding about the suppression itself does not."""
        named = self.suppression.rule in (finding.code, finding.name)
        return named and self.holds(finding.path) and finding.path != self.path

    def holds(self, path: str) -> bool:
        """The path lies in the scope."""
        return not self.scope or path == self.scope or path.startswith((f"{self.scope}.", f"{self.scope}["))


def suppressions(candidate: Candidate) -> Iterator[Located]:
    """Every suppression of the candidate, outermost first."""
    yield from _listed(candidate.lint, "")
    for index, block in enumerate(candidate.blocks):
        yield from _listed(block.lint, f"blocks[{index}]")
    for located in candidate.mixers():
        yield from _listed(located.mixer.lint, located.path)


def _listed(lint: Lint, scope: str) -> Iterator[Located]:
    prefix = f"{scope}." if scope else ""
    for index, suppression in enumerate(lint.ignore):
        yield Located(suppression, f"{prefix}lint.ignore[{index}]", scope)


def silenced(findings: Sequence[Finding], found: Sequence[Located]) -> list[Finding]:
    """The findings, those that a suppression covers with its reason in `suppressed`."""
    if not found:
        return list(findings)
    return [_silenced(finding, found) for finding in findings]


def _silenced(finding: Finding, found: Sequence[Located]) -> Finding:
    reason = next((one.suppression.reason for one in found if one.covers(finding)), None)
    return finding if reason is None else finding.model_copy(update={"suppressed": reason})


def unused(findings: Sequence[Finding], found: Sequence[Located], ran: Sequence[Rule]) -> tuple[Unused, ...]:
    """The suppressions that silence nothing: no finding, or only what one before them silences already.

    One that names a rule left out of this run is not judged. One that names a rule about suppressions is used where it
    holds an unused one.
    """
    known, judged = _keys(all_rules()), _keys(ran)
    about_suppressions = _keys(rule for rule in ran if rule.stage == "report")
    named = [one for one in found if one.suppression.rule in judged or one.suppression.rule not in known]
    first = [
        Unused(one.path, one.suppression.rule, why)
        for one in named
        if one.suppression.rule not in about_suppressions and (why := _why(one, findings, found, known))
    ]
    late = [
        Unused(one.path, one.suppression.rule, _nothing(one))
        for one in named
        if one.suppression.rule in about_suppressions and not any(one.holds(other.path) for other in first)
    ]
    order = {one.path: index for index, one in enumerate(found)}
    return tuple(sorted((*first, *late), key=lambda one: order[one.path]))


def _keys(rules: Iterable[Rule]) -> set[str]:
    return {key for rule in rules for key in (rule.code, rule.name)}


def _why(one: Located, findings: Sequence[Finding], found: Sequence[Located], known: set[str]) -> str | None:
    """Why the suppression silences nothing; None where it silences something."""
    name = one.suppression.rule
    if name not in known:
        close = nearest(name, sorted(known))
        return f"no rule is called `{name}`" + (f" (did you mean `{close}`?)" if close else "")
    covered = [finding for finding in findings if one.covers(finding)]
    if not covered:
        return _nothing(one)
    before = {next(other for other in found if other.covers(finding)).path for finding in covered}
    return None if one.path in before else f"`{sorted(before)[0]}` silences `{name}` here already"


def _nothing(one: Located) -> str:
    return f"`{one.suppression.rule}` reports nothing {f'in `{one.scope}`' if one.scope else 'in this spec'}"
