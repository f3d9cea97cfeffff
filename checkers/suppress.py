"""Suppressions: `lint: {ignore: [{rule, reason}]}` at the spec, a block or a mixer silences what lies there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from checkers.finding import Finding
from checkers.rule import Rule, Unused, all_rules
from designspace.candidate import Candidate
from designspace.events import nearest
from designspace.suppression import Suppression


@dataclass(frozen=True, slots=True)
class Located:
    """A suppression, its own path, the path it covers (empty: the whole spec), and its place among all of the spec."""

    suppression: Suppression
    path: str
    scope: str
    order: int

    def covers(self, finding: Finding) -> bool:
        """The finding is of the named rule and stands in the scope; a finding about the suppression itself does not."""
        named = self.suppression.rule in (finding.code, finding.name)
        return named and self.holds(finding.path) and finding.path != self.path

    def holds(self, path: str) -> bool:
        """The path lies in the scope."""
        return not self.scope or path == self.scope or path.startswith((f"{self.scope}.", f"{self.scope}["))


def suppressions(candidate: Candidate) -> list[Located]:
    """Every suppression of the candidate, outermost first."""
    lists = [
        (candidate.lint, ""),
        *((block.lint, f"blocks[{index}]") for index, block in enumerate(candidate.blocks)),
        *((located.mixer.lint, located.path) for located in candidate.mixers()),
    ]
    entries = [
        (suppression, f"{scope}.lint.ignore[{index}]".removeprefix("."), scope)
        for lint, scope in lists
        for index, suppression in enumerate(lint.ignore)
    ]
    return [Located(*entry, order) for order, entry in enumerate(entries)]


def silenced(findings: Sequence[Finding], found: Sequence[Located]) -> list[Finding]:
    """The findings, those that a suppression covers with its reason in `suppressed`."""
    if not found:
        return list(findings)
    named = _by_rule(found)
    return [_silenced(finding, named) for finding in findings]


def _silenced(finding: Finding, named: Mapping[str, Sequence[Located]]) -> Finding:
    first = _first(finding, named)
    return finding if first is None else finding.model_copy(update={"suppressed": first.suppression.reason})


def _by_rule(found: Iterable[Located]) -> dict[str, list[Located]]:
    """The suppressions by the rule as they name it."""
    named: dict[str, list[Located]] = {}
    for one in found:
        named.setdefault(one.suppression.rule, []).append(one)
    return named


def _first(finding: Finding, named: Mapping[str, Sequence[Located]]) -> Located | None:
    """The outermost suppression that covers the finding; at one place the first."""
    both = [one for name in (finding.code, finding.name) for one in named.get(name, ()) if one.covers(finding)]
    return min(both, key=lambda one: one.order, default=None)


def unused(findings: Sequence[Finding], found: Sequence[Located], ran: Sequence[Rule]) -> tuple[Unused, ...]:
    """The suppressions that silence nothing: no finding, or only what one before them silences already.

    One that names a rule left out of this run is not judged. One that names a rule about suppressions is used where it
    holds an unused one.
    """
    if not found:
        return ()
    known, judged = _keys(all_rules()), _keys(ran)
    about_suppressions = _keys(rule for rule in ran if rule.stage == "report")
    named = [one for one in found if one.suppression.rule in judged or one.suppression.rule not in known]
    by_rule = _by_rule(found)
    reported: dict[str, list[Finding]] = {}
    for finding in findings:
        for name in (finding.code, finding.name):
            reported.setdefault(name, []).append(finding)
    first = [
        Unused(one.path, one.suppression.rule, why)
        for one in named
        if one.suppression.rule not in about_suppressions
        and (why := _why(one, reported.get(one.suppression.rule, ()), by_rule, known))
    ]
    late = [
        Unused(one.path, one.suppression.rule, _nothing(one))
        for one in named
        if one.suppression.rule in about_suppressions and not any(one.holds(other.path) for other in first)
    ]
    order = {one.path: one.order for one in found}
    return tuple(sorted((*first, *late), key=lambda one: order[one.path]))


def _keys(rules: Iterable[Rule]) -> set[str]:
    return {key for rule in rules for key in (rule.code, rule.name)}


def _why(
    one: Located, reported: Sequence[Finding], by_rule: Mapping[str, Sequence[Located]], known: set[str]
) -> str | None:
    """Why the suppression silences nothing of what its rule reports; None where it silences something."""
    name = one.suppression.rule
    if name not in known:
        close = nearest(name, sorted(known))
        return f"no rule is called `{name}`" + (f" (did you mean `{close}`?)" if close else "")
    covered = [finding for finding in reported if one.covers(finding)]
    if not covered:
        return _nothing(one)
    before = {first.path for finding in covered if (first := _first(finding, by_rule)) is not None}
    return None if one.path in before else f"`{sorted(before)[0]}` silences `{name}` here already"


def _nothing(one: Located) -> str:
    return f"`{one.suppression.rule}` reports nothing {f'in `{one.scope}`' if one.scope else 'in this spec'}"
