"""Fingerprints name a finding by what its rule reads, at the place where it stands, and by nothing else."""

from typing import Any

import pytest

from checkers import all_rules, check
from checkers.rule import resolved

SOFTMAX = {"readout": {"kind": "exponential"}, "scaling": {"base": 1.0}, "normalization": {"kind": "sum"}}


def found(**spec: Any) -> dict[tuple[str, str], str]:
    """Fingerprints by code and path."""
    report = check(resolved(spec))
    return {(finding.code, finding.path): finding.fingerprint for finding in report.findings}


def changed(before: dict[tuple[str, str], str], after: dict[tuple[str, str], str]) -> set[str]:
    """Codes of the findings at one place that have another identity."""
    return {key[0] for key in before.keys() & after.keys() if before[key] != after[key]}


def test_only_rules_that_read_a_field_follow_it():
    before = found(mixer=SOFTMAX)
    after = found(mixer={**SOFTMAX, "scaling": {"base": 1.5}})
    assert "CD501" in changed(before, after)
    assert "CD101" not in changed(before, after)
    assert {"CD501", "CD101"} <= {code for code, _ in before.keys() & after.keys()}


def test_the_target_counts_for_rules_that_read_it():
    longer = found(mixer=SOFTMAX, target={"seq_len": 4096})
    assert changed(found(mixer=SOFTMAX), longer) == changed(found(mixer=SOFTMAX, target={"seq_len": 8192}), longer)
    assert "CD101" in changed(found(mixer=SOFTMAX), longer)


def test_a_default_written_out_is_the_same_finding():
    assert found(mixer={**SOFTMAX, "scaling": {"base": 1, "where": "score"}}) == found(mixer=SOFTMAX)


def test_what_another_block_holds_does_not_matter_to_a_rule_about_one_mixer():
    alone = found(blocks=[{"mixer": SOFTMAX}, {}])
    beside = found(blocks=[{"mixer": SOFTMAX}, {"mixer": {"io": {"output_norm": "head_rms"}}}])
    place = ("CD501", "blocks[0].mixer.scaling.base")
    assert alone[place] == beside[place]


def test_equal_mixers_in_two_blocks_are_two_findings_of_one_identity():
    twice = found(blocks=[{"mixer": SOFTMAX}, {"mixer": SOFTMAX}])
    assert twice["CD501", "blocks[0].mixer.scaling.base"] == twice["CD501", "blocks[1].mixer.scaling.base"]


def test_a_block_that_moves_keeps_its_findings():
    before = found(blocks=[{}, {"mixer": SOFTMAX}])
    after = found(blocks=[{}, {"repeat": 3}, {"mixer": SOFTMAX}])
    place = "mixer.scaling.base"
    assert before["CD501", f"blocks[1].{place}"] == after["CD501", f"blocks[2].{place}"]


@pytest.mark.parametrize("code", sorted(rule.code for rule in all_rules() if rule.reads_stack))
def test_a_rule_about_the_stack_keeps_its_findings_when_other_blocks_change(code: str):
    rule = next(rule for rule in all_rules() if rule.code == code)
    before = resolved(rule.fails[0])
    mixer = before.blocks[-1].mixers[-1]
    other = mixer.model_copy(update={"io": mixer.io.model_copy(update={"norm_eps": 1e-3})})
    after = before.model_copy(
        update={"blocks": (*before.blocks, before.blocks[-1].model_copy(update={"mixer": other}))}
    )
    names, later = (
        {(one.path, one.fingerprint) for one in check(spec).findings if one.code == code} for spec in (before, after)
    )
    assert names
    assert names <= later


def test_branches_have_their_own_values():
    changed_branch = {**SOFTMAX, "scaling": {"base": 1.5}}
    before = found(blocks=[{"mixer": {"parallel": [SOFTMAX, SOFTMAX]}}])
    after = found(blocks=[{"mixer": {"parallel": [SOFTMAX, changed_branch]}}])
    first, second = (("CD501", f"blocks[0].mixer.parallel[{branch}].scaling.base") for branch in (0, 1))
    assert before[first] == after[first]
    assert before[second] != after[second]


def test_silencing_a_finding_keeps_its_identity():
    lint = {"ignore": [{"rule": "CD501", "reason": "a reproduction"}]}
    assert found(mixer=SOFTMAX, lint=lint) == found(mixer=SOFTMAX)
    assert found(mixer={**SOFTMAX, "lint": lint}) == found(mixer=SOFTMAX)


def test_unused_suppressions_are_told_apart():
    ignore = [{"rule": rule, "reason": "none"} for rule in ("CD602", "CD603")]
    both = found(mixer=SOFTMAX, lint={"ignore": ignore})
    paths = [key for key in both if key[0] == "CD902"]
    assert len({both[key] for key in paths}) == len(paths) == 2
