"""No decision of a rule is without a test: every mutant is noticed, or `equivalent.yaml` says why it cannot be."""

from functools import cache

import pytest

from checkers.rule import all_rules
from tests.verdicts.mutation import Result, equivalent, main, run, units

RULES = [rule.code for rule in all_rules()]
HELD = ("zeros", "spectrum", "overflow", "remedies")  # formulas (scores, growth, ...) are held by probes as well


@cache
def result(unit: str) -> Result:
    return run(unit)


@pytest.mark.parametrize("code", RULES)
def test_every_mutant_of_a_rule_is_noticed(code: str) -> None:
    found = result(code)
    assert found.made > 0
    assert found.broken_tests == ()
    assert [one.mutant for one in found.unexplained] == []


@pytest.mark.slow
@pytest.mark.parametrize("module", HELD)
def test_every_mutant_of_a_module_that_decides_is_noticed(module: str) -> None:
    found = result(module)
    assert found.broken_tests == ()
    assert [one.mutant for one in found.unexplained] == []


def test_units_are_rules_and_the_modules_they_lean_on() -> None:
    assert {*RULES, "growth", "scores", "spectrum", "zeros", "remedies"} <= units().keys()


def test_reasons_are_about_mutants_that_there_are() -> None:
    """A reason stays only as long as its mutant survives."""
    modules = {name.split()[0] for name in equivalent()}
    wanted = [code for code in RULES if _home(code) in modules]
    survivors = {one.mutant for code in wanted for one in result(code).survivors}
    assert {name for name in equivalent() if name.startswith("checkers.rules.")} <= survivors
    assert all(len(why) > len("because") for why in equivalent().values())


def _home(code: str) -> str:
    rule = next(one for one in all_rules() if one.code == code)
    return f"checkers.rules.{rule.name.replace('-', '_')}"


def test_unknown_unit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["CD000"]) == 2
    assert "CD501" in capsys.readouterr().err
