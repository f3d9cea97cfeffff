"""Each rule answers the rows of its table: just inside and just outside of every limit, and at every exception."""

import pytest

from checkers.rule import all_rules
from tests.verdicts.row import Row, tables

RULES = {rule.code: rule for rule in all_rules()}
ROWS = [
    pytest.param(table.code, row, id=f"{table.code}-{index}-{row.why}")
    for table in tables()
    for index, row in enumerate(table.rows)
]


@pytest.mark.parametrize(("code", "row"), ROWS)
def test_row(code: str, row: Row) -> None:
    rule = RULES[code]
    problems = row.problems(rule, row.report(rule, row.load()))
    assert not problems, "\n".join(problems)


def test_every_rule_has_a_table() -> None:
    assert RULES.keys() == {table.code for table in tables()}
