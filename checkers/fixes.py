"""Fixes of a spec file: the edits of its findings, written into the text and proven on it before they count.

A step counts only if the new text parses, differs from the old spec by exactly the edits, has no more errors than
before, and no longer shows the findings that it was made for. Where it brings an error that the spec did not have, a
later step has to repair that one, or it does not count either.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from checkers.alike import apart
from checkers.edited import edited
from checkers.edits import with_values, without
from checkers.finding import Edit, Finding, Report
from checkers.location import LEVELS
from designspace.candidate import Candidate
from designspace.document import parse
from designspace.errors import SpecError
from designspace.events import KeyPath, split_path
from designspace.specfile import Loaded, load_document

MIXER_KEYS = ("blocks", "mixer", "parallel")
MAX_ROUNDS = 30  # of fixing and checking again; a fix seldom uncovers more than one further finding

Judge = Callable[[Loaded], Report]
Key = tuple[str, str, tuple[Edit, ...]]
Error = tuple[str, KeyPath]  # rule and mixer


class FixConflictError(SpecError):
    """Two fixes want different values at one place, or one changes a part of what another sets."""


@dataclass(frozen=True, slots=True)
class Left:
    """A finding whose fix was not applied, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """The text after fixing, its spec and report, the findings that were repaired, and those that could not be;
    `settled` where it ended before the limit of rounds.
    """

    text: str
    loaded: Loaded
    report: Report
    applied: tuple[Finding, ...] = ()
    left: tuple[Left, ...] = ()
    settled: bool = True


def fixed(text: str, file: str, judge: Judge, *, unsafe: bool = False) -> Fixed:
    """The text with every fix that can be applied.

    Args:
        text: a spec file, YAML or JSON.
        file: its name, for the report and for telling JSON from YAML.
        judge: checks a spec; findings it marks as suppressed are left alone.
        unsafe: apply fixes that change the function too.

    Raises:
        SpecError: the text is no spec.
        FixConflictError: two fixes contradict each other.
    """
    loaded = load_document(parse(text, file))
    now = Fixed(text, loaded, judge(loaded))
    for _ in range(MAX_ROUNDS):
        before, now = now, _repaired(now, judge, ("safe", "unsafe") if unsafe else ("safe",))
        if not now.left or now.text == before.text or not now.settled:
            break
    return now


def _repaired(start: Fixed, judge: Judge, allowed: Sequence[str]) -> Fixed:
    """`start` with every fix that can be applied by now: what is left may become possible by the others."""
    refused: dict[Key, Left] = {}
    for _ in range(MAX_ROUNDS):
        state = _State(start, judge, dict(refused))
        settled = state.repair(allowed)
        harmful = state.harmful()
        if not harmful:
            return replace(state.result(), settled=settled)
        refused |= harmful
    return replace(start, left=tuple(refused.values()))


def _next_step(wanted: Sequence[Finding]) -> list[Finding]:
    """The findings to fix together: safe values, then safe removals, then the worst finding of each mixer.

    An unsafe fix often makes others needless: with an output norm an exponential needs no cap.
    """
    safe = [finding for finding in wanted if finding.fix and finding.fix.applicability == "safe"]
    if safe:
        return [finding for finding in safe if not _removes(finding)] or safe
    worst: dict[KeyPath, Finding] = {}
    for finding in sorted(wanted, key=lambda one: LEVELS.index(one.severity)):
        worst.setdefault(_mixer(finding), finding)
    return list(worst.values())


def _mixer(finding: Finding) -> KeyPath:
    """The mixer a finding is about, without the field."""
    return tuple(takewhile(lambda part: isinstance(part, int) or part in MIXER_KEYS, split_path(finding.path)))


def _removes(finding: Finding) -> bool:
    return any(edit.action == "remove" for edit in _edits(finding))


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix else ()


def _key(finding: Finding) -> Key:
    return finding.code, finding.path, _edits(finding)


def _errors(report: Report) -> set[Error]:
    """The errors by rule and mixer: a rule that names another field of it next says nothing new."""
    return {(one.code, _mixer(one)) for one in report.active if one.severity == "error"}


@dataclass
class _State:
    """How far the fixing has come from `start`; `brought` are the steps that each new error came with."""

    start: Fixed
    judge: Judge
    refused: dict[Key, Left]
    history: dict[str, tuple[Edit, str]] = field(default_factory=dict)
    brought: dict[Error, Sequence[Finding]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now = self.start

    def repair(self, allowed: Sequence[str]) -> bool:
        """Fix and check again until nothing is left to try; whether that came before the limit of rounds."""
        for _ in range(MAX_ROUNDS):
            wanted = self.wanted(allowed)
            if not wanted:
                return True
            step = _next_step(wanted)
            self.refuse_conflicts(step)
            self.apply(step)
        self.refused |= {_key(one): Left(one, f"still here after {MAX_ROUNDS} rounds") for one in self.wanted(allowed)}
        return False

    def result(self) -> Fixed:
        """What came of it; a refused finding that went with another is no longer left."""
        here = {(one.code, one.path) for one in apart(self.now.report.active)}
        left = (one for one in self.refused.values() if (one.finding.code, one.finding.path) in here)
        return replace(self.now, left=tuple(left))

    def harmful(self) -> dict[Key, Left]:
        """The fixes that brought an error which no later one repaired."""
        found: dict[Key, Left] = {}
        for error in sorted(_errors(self.now.report) - _errors(self.start.report), key=str):
            code, mixer = error
            step = self.brought.get(error, ())
            for one in [one for one in step if _mixer(one) == mixer] or step:
                found[_key(one)] = Left(one, f"it would bring an error that the spec does not have now ({code})")
        return found

    def wanted(self, allowed: Sequence[str]) -> list[Finding]:
        """The findings that still have a fix to try."""
        return [
            finding
            for finding in apart(self.now.report.active)
            if finding.fix and finding.fix.edits and finding.fix.applicability in allowed
            if _key(finding) not in self.refused
        ]

    def refuse_conflicts(self, findings: Sequence[Finding]) -> None:
        """Raise where two of the fixes, or one of them and an earlier one, contradict each other.

        A rule may correct its own earlier value: another fix can have changed what the value depends on.
        """
        new = {(edit, finding.code): None for finding in findings for edit in _edits(finding)}
        by_path: dict[str, tuple[Edit, str]] = dict(self.history)
        for edit, code in new:
            other, earlier = by_path.setdefault(edit.path, (edit, code))
            if other != edit and edit.action == "set" and (earlier != code or edit.path not in self.history):
                raise self.conflict(code, edit, earlier, other)
        sets = [(edit, code) for edit, code in new if edit.action == "set"]
        nested = {split_path(edit.path) for edit, _ in sets}
        for edit, code in sets:
            parts = split_path(edit.path)
            above = next((parts[:end] for end in range(1, len(parts)) if parts[:end] in nested), None)
            if above is not None:
                other, earlier = next((one, by) for one, by in sets if split_path(one.path) == above)
                raise self.conflict(code, edit, earlier, other)

    def conflict(self, code: str, edit: Edit, other_code: str, other: Edit) -> FixConflictError:
        """The error for two fixes that contradict each other."""
        return FixConflictError(
            f"the fixes contradict each other: {other_code} sets `{other.path}` to {other.value}, and {code} sets"
            f" `{edit.path}` to {edit.value}; apply one of them by hand, or leave one rule out with --ignore.",
            file=self.now.loaded.document.file,
            line=self.now.loaded.document.span(edit.path).line,
            path=edit.path,
        )

    def apply(self, findings: Sequence[Finding]) -> None:
        """Apply the fixes together, or, where that fails, those that stand alone; later ones first, as items move."""
        reason = self.step(findings)
        if reason is None:
            return
        if len(findings) == 1:
            self.refused[_key(findings[0])] = Left(findings[0], reason)
            return
        middle = len(findings) // 2
        self.apply(findings[middle:])
        self.apply(findings[:middle])

    def step(self, findings: Sequence[Finding]) -> str | None:
        """Make one step; why it does not count, or None where it was made."""
        edits = list(dict.fromkeys(edit for finding in findings for edit in _edits(finding)))
        file, before = self.now.loaded.document.file, self.now.report
        try:
            expected = edited(self.now.loaded.candidate, edits)
            text = _rewritten(self.now, edits, expected)
            loaded = load_document(parse(text, file))
        except SpecError as error:
            return error.message
        if loaded.candidate != expected:
            return "the text cannot be edited in place here (a value that several places share?); change it by hand"
        report = self.judge(loaded)
        if report.summary.errors > before.summary.errors:
            had = {(one.code, one.path) for one in before.active if one.severity == "error"}
            new = {one.code for one in report.active if one.severity == "error" and (one.code, one.path) not in had}
            return f"it would bring errors that the spec does not have now ({', '.join(sorted(new))})"
        still = {_key(one) for one in apart(report.active)} & {_key(one) for one in findings if not _removes(one)}
        if still:
            return f"it does not help: {', '.join(sorted({code for code, _, _ in still}))} would still report the same"
        self.history |= {
            edit.path: (edit, one.code) for one in findings for edit in _edits(one) if edit.action == "set"
        }
        self.brought |= dict.fromkeys(_errors(report) - _errors(before), findings)
        self.now = replace(self.now, text=text, loaded=loaded, report=report, applied=(*self.now.applied, *findings))
        return None


def _rewritten(now: Fixed, edits: Sequence[Edit], expected: Candidate) -> str:
    """The text after the edits: values first, then what goes."""
    text, document = now.text, now.loaded.document
    values = {split_path(edit.path): edit.value for edit in edits if edit.action == "set"}
    if values:
        text = with_values(text, document, values, expected.model_dump(by_alias=True))
    removals = [split_path(edit.path) for edit in edits if edit.action == "remove"]
    if removals:
        document = document if not values else load_document(parse(text, document.file)).document
        text = without(text, document, removals)
    return text
