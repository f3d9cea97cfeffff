"""Static verdicts against measured ones: random specs and specs steered to each verdict, rule by rule.

`.venv/bin/python -m tests.agreement.report --specs 2000` is the same with 200 specs of each verdict; docs/agreement.md.
"""

import pytest

from checkers.rule import all_rules
from tests.agreement.judges import JUDGES
from tests.agreement.judges.unprobed import UNPROBED
from tests.agreement.report import tally

SPECS = 150
SLOW = ("numerator-grows", "score-scale")  # minutes: many draws of wide mixers


def test_every_rule_has_a_judge_or_a_reason() -> None:
    assert set(JUDGES) | set(UNPROBED) == {rule.name for rule in all_rules()}
    assert not set(JUDGES) & set(UNPROBED)


@pytest.mark.parametrize(
    "rule", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in JUDGES]
)
def test_static_verdicts_agree_with_measured_ones(rule: str) -> None:
    found = tally(rule, JUDGES[rule], SPECS)
    numbers = [(case.number, case.answer, reading.numbers, case.reason) for case, reading in found.wrong]
    assert numbers == []
    assert found.agreed["pass"] > 0
    assert found.agreed["fail"] > 0
