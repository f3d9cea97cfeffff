"""Recall on defects by class of evidence, and false alarms on traps, over all labelled cases."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tests.cases.faulty import Faulty, faulty_forms
from tests.cases.judge import Judged, judge
from tests.cases.page import classes
from tests.cases.record import Case, cases

CLASSES: Mapping[str, str] = {
    "S": "decidable from the tuple",
    "R": "needs a range, dtype or eps",
    "I": "importer",
    "K": "implementation, found by a probe",
    "X": "cases of our own",
}
OUTSIDE = "S"  # B46 has no letter on the page: its verdicts follow from the tuple


@dataclass(frozen=True)
class Found:
    """How many of how many."""

    right: int
    total: int

    def __str__(self) -> str:
        return f"{self.right}/{self.total}"


@dataclass(frozen=True)
class Problem:
    """A case that is not as it should be: what is wrong, and everything that was reported."""

    case: str
    title: str
    wrong: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Score:
    """The checker on the labelled cases; `records` counts by number, `cases` by file."""

    cases: Mapping[str, Found]
    records: Mapping[str, Found]
    traps: int
    false_alarms: int
    infos: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...]

    def data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def score(wanted: Collection[str] = ()) -> Score:
    """The score over the cases whose name or record number starts with one of `wanted`; over all without any."""
    judged = [_judged(case) for case in cases() if _is_wanted(case.name, wanted)]
    forms = [one for name, one in faulty_forms().items() if _is_wanted(_number_first(name), wanted)]
    faults = {one.record + " " + one.title: (one, one.problems()) for one in forms}
    defects = [one for one in judged if one.case.record.kind == "defect"]
    traps = [one for one in judged if one.case.record.kind == "trap"]

    letters = [(class_of(one.case), one.case.record.record, one.is_right) for one in defects]
    letters += [("K", one.record, not wrong) for one, wrong in faults.values()]
    return Score(
        cases={letter: _count(right for found, _, right in letters if found == letter) for letter in CLASSES},
        records={letter: _by_record(letters, letter) for letter in CLASSES},
        traps=len(traps),
        false_alarms=sum(bool(one.alarms) for one in traps),
        infos={one.case.name: one.infos for one in traps if one.infos},
        problems=tuple(_problems(judged, faults)),
    )


def _judged(case: Case) -> Judged:
    """A checker that crashes on a case has missed it, and the others still count."""
    try:
        return judge(case)
    except Exception as error:
        return Judged(case, (f"the checker crashed: {type(error).__name__}: {error}",))


def class_of(case: Case) -> str:
    """The letter of a defect: I for a config.json; else S or R, the first that the page names for the record."""
    if case.takes == "config":
        return "I"
    if case.record.record.startswith("X"):
        return "X"
    letters = classes()[case.record.record] or OUTSIDE
    return next((letter for letter in letters if letter in "SR"), letters[0])


def _is_wanted(name: str, wanted: Collection[str]) -> bool:
    return not wanted or any(name.casefold().startswith(one.casefold()) for one in wanted)


def _number_first(unit: str) -> str:
    """Units are modules, so their names are lower case: b22_left_padding."""
    return unit.upper()


def _count(rights: Iterator[bool]) -> Found:
    found = Counter(rights)
    return Found(found[True], found.total())


def _by_record(letters: list[tuple[str, str, bool]], letter: str) -> Found:
    """A record is found where all of its cases are."""
    rights: dict[str, bool] = {}
    for found, record, right in letters:
        if found == letter:
            rights[record] = rights.get(record, True) and right
    return _count(iter(rights.values()))


def _problems(judged: list[Judged], faults: Mapping[str, tuple[Faulty, tuple[str, ...]]]) -> Iterator[Problem]:
    for one in judged:
        if not one.is_right:
            yield Problem(one.case.name, one.case.record.title, one.problems, one.findings)
    for name, (form, wrong) in faults.items():
        if wrong:
            yield Problem(name, form.title, wrong, ())
