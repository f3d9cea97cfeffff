"""The labelled cases: every defect is found at its level, every trap stays silent, every fault is seen by a probe."""

import re

import pytest

from checkers.check import check
from designspace import catalogue
from tests.cases.faulty import faulty_forms
from tests.cases.judge import judge
from tests.cases.page import classes, is_defect
from tests.cases.record import cases
from tests.cases.score import class_of

CASES = {case.name: case for case in cases()}
FORMS = faulty_forms()
OUTSIDE = "B46"
PROMISE = re.compile(r"\b(will|can) (solve|learn)|\bsolves\b", re.IGNORECASE)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    found = judge(CASES[name])
    assert found.is_right, "\n".join((*found.problems, "all findings:", *found.findings))


@pytest.mark.parametrize("name", FORMS)
def test_faulty_form_is_seen_by_a_probe_and_its_design_stays_silent(name: str) -> None:
    assert FORMS[name].problems() == ()


def test_every_record_of_the_page_is_covered() -> None:
    """S, R and I by a case, K by a faulty form, traps by a trap; a few defects are of what no mixer rule may judge."""
    of_cases = {(case.record.record, class_of(case)) for case in CASES.values() if case.record.record in classes()}
    traps = {case.record.record for case in CASES.values() if case.record.kind == "trap"}
    forms = {one.record for one in FORMS.values()}
    missing = []
    for number, letters in classes().items():
        if not is_defect(number):
            missing += [] if number in traps else [f"{number}: a trap"]
        elif number != OUTSIDE:
            missing += [] if "K" not in letters or number in forms else [f"{number}: a faulty form"]
            missing += [
                f"{number}: a case of class {letter}"
                for letter in letters
                if letter in "SRI" and (number, letter) not in of_cases and not _counts_as(number, letter, of_cases)
            ]
    assert missing == []
    assert OUTSIDE in {case.record.record for case in CASES.values()}


def _counts_as(number: str, letter: str, of_cases: set[tuple[str, str]]) -> bool:
    """A record that is S and R at once has one class; a spec stands for it."""
    return letter in "SR" and bool({(number, "S"), (number, "R")} & of_cases)


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_of_the_page_or_our_own(name: str) -> None:
    number = CASES[name].record.record
    assert number.startswith("X") or number in classes()


@pytest.mark.parametrize("name", catalogue.names())
def test_no_verdict_promises_that_a_model_will_learn(name: str) -> None:
    """B82: what a mixer can express is not what it learns."""
    report = check(catalogue.get(name).candidate)
    texts = [one.reason for one in report.verdicts] + [one.message for one in report.findings]
    assert not [text for text in texts if PROMISE.search(text)]
