"""Infos that say the same of several layers are told once, and lose no place: neither to fixes nor to baselines."""

from pathlib import Path
from typing import Any

import pytest

from checkers import Report, Settings, baseline, check
from checkers.alike import apart, together
from checkers.baseline import Baseline
from checkers.finding import Elsewhere, Finding, Quantity
from checkers.fixes import fixed
from designspace.document import parse
from designspace.specfile import Loaded, load_document

SHORT = "- mixer: {decay: {granularity: diagonal, map: sigmoid, initial: [0.5, 0.9]}}"  # CD701, info, with a fix
SOFTMAX = (
    "- mixer: {readout: {kind: exponential}, scaling: {base: 1}, normalization: {kind: sum}, support: {window: 64}}"
)
SILENT = SHORT.replace("decay:", "lint: {ignore: [{rule: CD701, reason: a test}]}, decay:")


def loaded(*blocks: str) -> Loaded:
    text = "\n".join(["target: {seq_len: 4096}", "blocks:", *blocks, ""])
    return load_document(parse(text, "my.yaml"))


def judge(spec: Loaded) -> Report:
    return check(spec.candidate, Settings(select=("CD701", "CD501")), document=spec.document)


def report(*blocks: str) -> Report:
    return judge(loaded(*blocks))


def blocks_of(finding: Finding) -> list[str]:
    return [path.partition(".")[0] for path in (finding.path, *(other.path for other in finding.also))]


def test_equal_infos_are_one_with_the_places_and_edits_of_all():
    found = report(SHORT, SOFTMAX, SHORT, SHORT)
    (short,) = [one for one in found.findings if one.code == "CD701"]
    assert blocks_of(short) == ["blocks[0]", "blocks[2]", "blocks[3]"]
    assert [span.line for span in (short.span, *(other.span for other in short.also)) if span] == [3, 5, 6]
    assert short.fix is not None
    assert [edit.path.partition(".")[0] for edit in short.fix.edits] == blocks_of(short)
    assert found.summary.infos == 1


def test_warnings_and_errors_stay_one_each():
    errors = [one for one in report(SOFTMAX, SOFTMAX).findings if one.code == "CD501"]
    assert [(one.severity, one.also) for one in errors] == [("error", ()), ("error", ())]


def test_infos_with_other_numbers_stay_apart():
    found = report(SHORT, SHORT.replace("0.9]", "0.91]"), SHORT)
    assert [blocks_of(one) for one in found.findings] == [["blocks[0]", "blocks[2]"], ["blocks[1]"]]


@pytest.mark.parametrize(
    "changes",
    [
        {"evidence": {"half_life": Quantity(value=1.0)}},
        {"assumptions": ("another start",)},
        {"message": "another"},
        {"severity": "warning"},
        {"path": "target.seq_len"},
    ],
)
def test_infos_that_differ_in_more_than_the_block_stay_apart(changes: dict[str, Any]):
    first, second = apart(report(SHORT, SHORT).findings)
    assert len(together((first, second))) == 1
    assert len(together((first, second.model_copy(update=changes)))) == 2


def test_taking_apart_undoes_telling_once():
    found = report(SHORT, SOFTMAX, SHORT)
    single = apart(found.findings)
    assert [blocks_of(one) for one in single] == [["blocks[0]"], ["blocks[2]"], ["blocks[1]"]]
    assert [[edit.path for edit in one.fix.edits] for one in single if one.fix] == [
        ["blocks[0].mixer.decay.initial[1]"],
        ["blocks[2].mixer.decay.initial[1]"],
        ["blocks[1].mixer.scaling.base"],
    ]
    assert together(single) == found.findings


def test_a_suppression_silences_its_own_layer():
    found = report(SHORT, SILENT, SHORT)
    assert [(blocks_of(one), one.suppressed) for one in found.findings] == [
        (["blocks[0]", "blocks[2]"], None),
        (["blocks[1]"], "a test"),
    ]


def test_a_baseline_counts_places():
    path = Path("known.json")
    known = baseline.written([report(SHORT, SHORT)], Baseline(), path)
    assert [entry.count for entry in known.findings] == [2]
    same = baseline.applied([report(SHORT, SHORT)], known, path)
    assert (same.reports[0].active, same.hidden, same.stale) == ((), 2, ())
    more = baseline.applied([report(SHORT, SHORT, SHORT)], known, path)
    assert [blocks_of(one) for one in more.reports[0].active] == [["blocks[2]"]]
    (stale,) = baseline.applied([report(SHORT)], known, path).stale
    assert stale.count == 1


def test_fixes_repair_each_layer():
    after = fixed("\n".join(["target: {seq_len: 4096}", "blocks:", SHORT, SHORT, ""]), "my.yaml", judge, unsafe=True)
    assert after.text.count("[0.5, 0.999]") == 2
    assert [(one.code, one.also) for one in after.applied] == [("CD701", ()), ("CD701", ())]
    assert after.report.active == ()


def test_a_place_without_a_document_is_told_too():
    (short,) = check(loaded(SHORT, SHORT).candidate, Settings(select=("CD701",))).findings
    assert short.also == (Elsewhere(path=short.path.replace("[0]", "[1]"), span=None, fingerprint=short.fingerprint),)


def test_equal_words_of_other_mixers_keep_their_names():
    other = SHORT.replace("{mixer: {", "{mixer: {heads: {head_dim: 32}, scaling: {base: 0.5}, ")
    first, second = apart(report(SHORT, other).findings)
    (joined,) = together([first, second.model_copy(update={"fingerprint": "00"})])
    assert [one.fingerprint for one in apart([joined])] == [first.fingerprint, "00"]
