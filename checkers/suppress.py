"""Suppressions: `lint: {ignore: [{rule, reason}]}` at the spec, a block or a mixer silences what lies there."""

from collections.abc import Iterator, Sequence
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
        """The finding is of the named rule and stands in the scope."""
        named = self.suppression.rule in (finding.code, finding.name)
        inside = (
            not self.scope
            or finding.path == self.scope
            or finding.path.startswith((f"{self.scope}.", f"{self.scope}["))
        )
        return named and inside


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
    """The suppressions that cover no finding. One that names a rule left out of this run is not judged."""
    known = {key for rule in all_rules() for key in (rule.code, rule.name)}
    judged = {key for rule in ran for key in (rule.code, rule.name)}
    return tuple(
        Unused(one.path, one.suppression.rule, _why(one, known))
        for one in found
        if (one.suppression.rule in judged or one.suppression.rule not in known)
        and not any(one.covers(finding) for finding in findings)
    )


def _why(one: Located, known: set[str]) -> str:
    name = one.suppression.rule
    if name in known:
        return f"`{name}` reports nothing {f'in `{one.scope}`' if one.scope else 'in this spec'}"
    close = nearest(name, sorted(known))
    return f"no rule is called `{name}`" + (f" (did you mean `{close}`?)" if close else "")
