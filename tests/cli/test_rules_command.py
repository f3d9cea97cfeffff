"""`sextant rules`, `sextant rule` and `sextant explain`: what a user and a program learn of the rules."""

import json

import pytest

from checkers import all_rules
from checkers.severity import TABLE
from tests.cli.conftest import ROOT, Run

LISTED = {
    "code": str,
    "name": str,
    "principle": int,
    "group": str,
    "precision": str,
    "status": str,
    "since": str,
    "severity": dict,
    "severities": list,
    "what": str,
    "why": str,
    "exceptions": list,
    "fix": str,
    "fix_available": bool,
    "fix_applicability": list,
    "fields_read": list,
    "thresholds": list,
    "references": list,
    "page": str,
}


def test_the_list_for_programs_has_everything(sextant: Run) -> None:
    rules = json.loads(sextant("rules", "--format", "json").out)
    assert [rule["code"] for rule in rules] == [rule.code for rule in all_rules()]
    for data, rule in zip(rules, all_rules(), strict=True):
        assert all(isinstance(data[key], kind) for key, kind in LISTED.items())
        assert (data["status"] == "preview") == (rule.group == "nursery")
        assert data["severity"]["new"] in {TABLE[kind].new for kind in rule.kinds}
        assert data["fix_available"] == bool({"safe", "unsafe"} & set(data["fix_applicability"]))
        assert (ROOT / data["page"]).is_file()
        for row in data["severities"]:
            assert (row["changed"] is None) == (row["when"] is None)


def test_the_list_for_people_names_levels(sextant: Run) -> None:
    lines = sextant("rules").out.splitlines()
    (line,) = [line.split() for line in lines if " CD101 " in line]
    assert line[:6] == ["CD101", "quadratic-cost", "suspect", "very-high", "warning", "info"]


@pytest.mark.parametrize("selector", ["CD501", "cd501", "score-scale", "SCORE-SCALE"])
def test_explain_and_rule_are_one_command(selector: str, sextant: Run) -> None:
    told = sextant("explain", selector)
    assert told.code == 0
    assert told.out == sextant("rule", "CD501").out
    for part in ("CD501 score-scale", "What ", "Why ", "Exception ", "Setting    thresholds.score-scale.band", "Page "):
        assert part in told.out


def test_an_unknown_rule_is_bad_input_with_the_nearest(sextant: Run) -> None:
    outcome = sextant("explain", "score-scle")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean `score-scale`?" in outcome.err
