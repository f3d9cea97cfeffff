"""The runner of the labelled cases: it must see a miss, an alarm and a wrong number, and refuse a wrong record."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from designspace.errors import SpecError
from tests.cases.__main__ import main
from tests.cases.faulty import faulty_forms
from tests.cases.judge import judge
from tests.cases.page import classes, is_defect
from tests.cases.record import Case, Record, cases

UNSCALED = {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}, "scaling": {"base": 1.0}}}
BESIDE = {"CD101": "warning", "CD301": "error"}
RIGHT: dict[str, Any] = {
    "record": "X99",
    "kind": "defect",
    "title": "an unscaled score",
    "spec": UNSCALED,
    "expect": {"CD501": "error"},
    "names": BESIDE,
}


def problems(**changes: Any) -> tuple[str, ...]:
    content = {name: value for name, value in (RIGHT | changes).items() if value is not None}
    return judge(Case("X99_case", Record.model_validate(content))).problems


def test_a_right_record_has_no_problem() -> None:
    assert problems(numbers={"CD501": {"score_std": 8.05}}, verdicts={"CD501": "fail"}) == ()
    assert problems(paths={"CD501": ["blocks[0].mixer.scaling.base"]}, says={"CD501": "nearly one-hot"}) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"expect": {"CD501": "warning"}}, "CD501: warning expected, error reported"),
        ({"expect": {"CD501": "error", "CD302": "error"}}, "CD302: error expected, nothing reported"),
        ({"names": {"CD301": "error"}}, "CD101 warning blocks[0].mixer.readout"),
        ({"names": {**BESIDE, "CD101": "info"}}, "CD101 warning blocks[0].mixer.readout"),
        ({"names": {"CD101": "warning"}, "silent": ["CD301"]}, "CD301: silence expected, error reported"),
        ({"numbers": {"CD501": {"score_std": 8.2}}}, "score_std = 8.2 expected"),
        ({"numbers": {"CD501": {"score_stddev": 8.0}}}, "no such evidence"),
        ({"says": {"CD501": "near-uniform"}}, "no message says"),
        ({"paths": {"CD501": []}}, "findings at [] expected"),
        ({"verdicts": {"CD501": "pass"}}, "verdict pass expected, fail given"),
        ({"expect_spec": {"blocks[0].mixer.scaling.base": 2.0}}, "2.0 expected, 1.0 imported"),
        ({"expect_spec": {"blocks[3].mixer": None}}, "nothing at 3"),
        ({"expect_error": "unknown key"}, "accepted"),
        ({"spec": {"mixer": {"colour": 1}}}, "refused: case.json:1: unknown key `colour`"),
        ({"kind": "trap"}, ""),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], said: str) -> None:
    found = problems(**changes)
    assert bool(said) == bool(found)
    assert any(said in one for one in found) or not said


def test_a_trap_reports_at_most_what_its_record_allows() -> None:
    silent = {"kind": "trap", "expect": {}, "names": BESIDE}
    assert any("CD501 error" in one for one in problems(**silent))
    assert problems(**(silent | {"expect": {"CD501": "error"}})) == ()
    crowded = {"spec": "catalogue:rwkv7", "kind": "trap", "expect": None, "names": None}
    kinds = judge(Case("X99_case", Record.model_validate({k: v for k, v in (RIGHT | crowded).items() if v}))).infos
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("record: X1\n", "record"),
        ("record: X99\nkind: defect\ntitle: nothing asked\nspec: {}\n", "a defect needs"),
        ("record: X99\nkind: trap\ntitle: both given\nspec: {}\nconfig: {}\n", "exactly one of"),
        ("record: X99\nkind: trap\ntitle: misspelt\nspec: {}\nexpected: {}\n", "expected"),
        ("record: X99\nkind: trap\ntitle: bad level\nspec: {}\nnames:\n  CD101: fatal\n", "names.CD101"),
        ("record: X99\nkind: trap\ntitle: named twice\nspec: {}\nnames: {CD101: info}\nsilent: [CD101]\n", "once"),
        ("record: X98\nkind: trap\ntitle: other name\nspec: {}\n", "must start with `X98_`"),
    ],
)
def test_a_wrong_record_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "X99_wrong.yaml"
    file.write_text(text)
    with pytest.raises(SpecError, match=said) as error:
        cases(tmp_path)
    assert error.value.file == str(file)
    assert error.value.line is not None


def test_command_prints_recall_and_alarms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["B01"]) == 0
    printed = capsys.readouterr().out
    assert "false alarms on traps    0/" in printed
    assert main(["B01", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["cases"]["S"]["right"] == data["cases"]["S"]["total"] >= 1
    assert data["problems"] == []


def test_page_is_read_as_it_is_meant() -> None:
    letters = classes()
    assert [letters[one] for one in ("B01", "B08", "B32", "B38", "B57", "B58a", "B58h", "B85", "B87", "B59")] == [
        *("S", "KR", "R", "K", "SK", "S", "KI", "S", "SI", "")
    ]
    assert not is_defect("B60")
    assert is_defect("B58g")
    assert len(letters) == 68


def test_a_faulty_form_that_no_probe_sees_is_a_problem() -> None:
    sound = faulty_forms()["b08_gain_divided_out"]
    blind = replace(sound, probes=("linearity",))
    assert any("no fault in `differs_from_definition`" in one for one in blind.problems())
    nameless = replace(sound, names=(), probes=("linearity",))
    assert any("CD101 warning about a sound design" in one for one in nameless.problems())
