"""What every rule must satisfy: complete documentation, and examples that hold."""

from typing import Any

import pytest

from checkers import Rule, all_rules, check
from checkers.explain import as_data, as_markdown, as_text
from checkers.principles import FAMILIES
from checkers.rule import PACKAGE, Context, Example, loaded
from designspace import catalogue
from designspace.candidate import Candidate
from designspace.events import split_path
from designspace.mixer import MixerSpec
from designspace.units import discover

RULES = {rule.code: rule for rule in all_rules()}
EXAMPLES = [
    pytest.param(rule, answer, example, id=f"{rule.code}-{answer}-{index}")
    for rule in all_rules()
    for answer, examples in (("pass", rule.passes), ("fail", rule.fails))
    for index, example in enumerate(examples)
]
DEMANDED = {1: 2, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2}


@pytest.fixture(params=sorted(RULES))
def rule(request: pytest.FixtureRequest) -> Rule:
    return RULES[request.param]


def test_file_is_named_after_the_rule_and_codes_are_unique():
    found = discover(PACKAGE, "rule", Rule)
    assert {name.replace("_", "-") for name in found} == {rule.name for rule in found.values()}
    assert len(RULES) == len(found) >= 14


@pytest.mark.parametrize(("principle", "count"), DEMANDED.items())
def test_each_principle_has_its_rules(principle: int, count: int):
    assert sum(rule.principle == principle for rule in RULES.values()) >= count


def test_documentation_is_complete(rule):
    for text in (rule.what, rule.why, rule.fix, *rule.exceptions, *rule.references, *rule.fields_read):
        assert text.strip()
    fields = {*MixerSpec.model_fields, *Candidate.model_fields}
    assert {path.partition(".")[0] for path in rule.fields_read} <= fields
    assert rule.exceptions
    assert rule.references
    assert rule.passes
    assert rule.fails
    assert rule.kinds
    assert rule.principle in FAMILIES


def test_every_part_of_the_documentation_is_shown(rule):
    data, text, markdown = as_data(rule), as_text(rule), as_markdown(rule)
    assert set(data) >= {"code", "name", "what", "why", "exceptions", "fix", "references", "passes", "fails"}
    for part in (rule.what, rule.why, rule.fix, *rule.exceptions):
        assert " ".join(part.split()) in " ".join(text.split())
        assert part in markdown


@pytest.mark.parametrize(("rule", "answer", "example"), EXAMPLES)
def test_examples_answer_as_documented(rule: Rule, answer: str, example: Example):
    found = loaded(example)
    report = check(found.candidate, unread=found.unread)
    verdict = next(verdict for verdict in report.verdicts if verdict.code == rule.code)
    assert verdict.verdict == answer, verdict.reason
    findings = [finding for finding in report.findings if finding.code == rule.code]
    assert findings or answer == "pass"


def exists(path: str, candidate: Candidate) -> bool:
    """The path leads to a value of the spec file."""
    value: Any = candidate.model_dump(by_alias=True)
    for part in split_path(path):
        if isinstance(part, int):
            if part >= len(value):
                return False
        elif part not in value:
            return False
        value = value[part]
    return True


@pytest.mark.parametrize("name", catalogue.names())
def test_outcomes_are_well_formed(name: str):
    """A finding is of a kind that its rule declares; every path exists; no reason is empty."""
    context = Context(catalogue.get(name).candidate)
    for rule in all_rules():
        for outcome in rule.check(context):
            assert outcome.reason
            assert outcome.kind is None or outcome.kind in rule.kinds
            assert exists(outcome.path, context.candidate), outcome.path
