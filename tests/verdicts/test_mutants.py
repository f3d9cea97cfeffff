"""The mutation check itself: what it breaks, that a breakage is undone, and that a test can notice it."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from checkers.rule import all_rules
from checkers.severity import TABLE
from tests.verdicts.mutants import Mutant, applied, mutants
from tests.verdicts.tables_broken import of_limits, of_severity

SOURCE = '''
LIMIT = 4
NAMES = ("a", "b")
EXAMPLE = {"limit": 3}

def size(x, is_new):
    """At most the limit: 3."""
    if x <= LIMIT and is_new:
        return "pass"
    match x:
        case 7 | 9:
            return "odd"
        case _ if x in (10, 20):
            return "round"
    return 0.5 if is_new else len([one for one in range(x) if one])
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of logic."""
    (tmp_path / "logic_to_break.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("logic_to_break")
    del sys.modules["logic_to_break"]


def test_every_decision_is_broken(module: ModuleType) -> None:
    made = {one.name.removeprefix("logic_to_break ") for one in mutants(module)}
    assert made == {
        "LIMIT: 4 -> 5",
        "NAMES: ('a', 'b') -> ('b',)",
        "NAMES: ('a', 'b') -> ('a',)",
        "size: x <= LIMIT and is_new -> is_new",
        "size: x <= LIMIT and is_new -> x <= LIMIT",
        "size: x <= LIMIT and is_new -> x <= LIMIT and (not is_new)",
        "size: x <= LIMIT -> x < LIMIT",
        "size: x <= LIMIT -> x > LIMIT",
        "size: 'pass' -> 'fail'",
        "size: case 7 | 9 -> case 7 | 9 if False",
        "size: case 7 | 9 -> case 9",
        "size: case 7 | 9 -> case 7",
        "size: 7 -> 8",
        "size: 9 -> 10",
        "size: case _ if x in (10, 20) -> case _ if False",
        "size: case _ if x in (10, 20) -> case _",
        "size: x in (10, 20) -> x not in (10, 20)",
        "size: x in (10, 20) -> x in (20,)",
        "size: x in (10, 20) -> x in (10,)",
        "size: 10 -> 11",
        "size: 20 -> 21",
        "size: 0.5 if is_new else len([one for one in range(x) if one])"
        " -> 0.5 if not is_new else len([one for one in range(x) if one])",
        "size: 0.5 -> 0.55",
        "size: if one -> no condition",
        "size: if one -> if not one",
    }


@pytest.mark.parametrize(
    ("change", "x", "is_new", "broken"),
    [
        ("x <= LIMIT -> x < LIMIT", 4, True, 0.5),
        ("LIMIT: 4 -> 5", 5, True, "pass"),
        ("case 7 | 9 -> case 9", 7, False, 6),
        ("x <= LIMIT and is_new -> x <= LIMIT", 4, False, "pass"),
        ("if one -> no condition", 6, False, 6),
    ],
)
def test_mutant_is_applied_and_undone(module: ModuleType, change: str, x: int, is_new: bool, broken: object) -> None:
    sound = module.size(x, is_new)
    mutant = next(one for one in mutants(module) if one.name.endswith(change))
    with applied(mutant):
        assert module.size(x, is_new) == broken
    assert module.size(x, is_new) == sound != broken


def test_levels_and_limits_are_broken() -> None:
    rule = next(one for one in all_rules() if one.code == "CD501")
    changes = [one.change for one in (*of_severity(rule), *of_limits(rule))]
    assert "SCORE_FAR when negated" in changes
    assert any(one.startswith("band[1] (0.5, 2.0) -> (0.5, 2.2") for one in changes)


def test_a_broken_table_is_undone() -> None:
    rule = next(one for one in all_rules() if one.code == "CD501")
    mutant: Mutant = next(of_severity(rule))
    before = dict(TABLE)
    with applied(mutant):
        from checkers import severity  # the binding that the checker reads

        assert dict(severity.TABLE) != before
    assert dict(TABLE) == before
