"""The report: order, spans, suppressions, settings, verdicts, and that sound designs pass."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from checkers import Report, Settings, all_rules, check
from checkers.finding import quantity
from checkers.rule import Outcome, resolved
from designspace import catalogue
from designspace.document import parse
from designspace.errors import SpecError
from designspace.measurement import Measurement
from designspace.specfile import load_document, load_with_places

UNSOUND = {
    "linear": "CD601",  # its output grows with the length: what its own file says it is known for
    "softmax_unscaled": "CD501",
    "rfa_gate": "CD603",  # a row sum of random cosine features, which can be negative
}
EXP: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
FILE = """\
sextant: 1
name: two-layers
blocks:
  - mixer:
      readout: {kind: exponential}
      scaling: {base: 1.0}
      normalization:
        kind: sum
  - mixer:
      erase: {direction: key}
      scaling: {gate: tied_to_erase}
"""


def verdicts(report: Report) -> dict[str, str]:
    return {verdict.code: verdict.verdict for verdict in report.verdicts}


@pytest.mark.parametrize("name", catalogue.names())
def test_published_designs_have_no_error_but_the_known_ones(name: str):
    report = check(catalogue.get(name).candidate)
    errors = {finding.code for finding in report.findings if finding.severity == "error"}
    assert errors == ({UNSOUND[name]} if name in UNSOUND else set())


def test_softmax_without_position_reports_cost_and_position():
    found = {finding.code for finding in check(catalogue.get("softmax_nope").candidate).findings}
    assert {"CD101", "CD301"} <= found


def test_report_has_the_published_shape():
    data = check(resolved({"mixer": EXP})).model_dump()
    contract = {"schema", "tool_version", "candidate", "target", "verdicts", "findings", "summary", "faults"}
    assert set(data) == contract | {"measured", "layers"}
    assert data["schema"] == "sextant.report/1"
    assert set(data["candidate"]) == {"name", "fingerprint", "source"}
    assert set(data["summary"]) == {"errors", "warnings", "infos", "passed", "unknown"}
    assert set(data["verdicts"][0]) == {"code", "name", "principle", "verdict", "reason", "path", "evidence"}
    keys = "code name principle severity path span message evidence assumptions sources fix suppressed fingerprint"
    assert set(data["findings"][0]) == {*keys.split(), "probe", "also"}


def test_report_survives_json():
    for name in ("softmax_unscaled", "mamba", "rwkv7"):
        report = check(catalogue.get(name).candidate)
        text = json.dumps(report.model_dump(mode="json"), allow_nan=False)
        assert Report.model_validate_json(text) == report


@pytest.mark.parametrize(
    ("value", "shown"), [(float("inf"), "infinite"), (float("nan"), "undefined"), (1 / 3, 0.333333)]
)
def test_quantities_are_json_numbers_or_words(value: float, shown: float | str):
    assert quantity(value).value == shown


def test_every_rule_answers_once_in_order_of_code():
    report = check(resolved({"mixer": EXP}))
    assert [verdict.code for verdict in report.verdicts] == [rule.code for rule in all_rules()]


def test_order_is_by_place_then_code():
    blocks = [{"mixer": EXP if index % 2 else {"readout": {"kind": "identity"}}} for index in range(12)]
    paths = [finding.path for finding in check(resolved({"blocks": blocks})).findings]
    numbers = [int(path.split("[")[1].split("]")[0]) for path in paths if path.startswith("blocks[")]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 11


def test_report_does_not_depend_on_the_hash_seed():
    code = (
        "from checkers import check; from designspace import catalogue\n"
        "print(check(catalogue.get('rwkv7').candidate).model_dump_json())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_spans_point_at_the_line_of_the_key():
    loaded = load_document(parse(FILE, "two.yaml"))
    report = check(loaded.candidate, document=loaded.document)
    lines = {finding.code: finding.span.line for finding in report.findings if finding.span}
    assert report.candidate.source == "two.yaml"
    assert lines["CD501"] == 6  # scaling.base
    assert lines["CD602"] == 9  # features.norm is missing: the mixer's own line
    assert all(finding.span is not None for finding in report.findings)


def test_a_file_of_one_mixer_has_spans():
    text = "mixer:\n  readout: {kind: exponential}\n  scaling:\n    base: 1.0\n"
    loaded = load_document(parse(text, "one.yaml"))
    report = check(loaded.candidate, document=loaded.document)
    assert next(f.span.line for f in report.findings if f.code == "CD501" and f.span) == 4


def test_catalogue_names_have_spans_too():
    loaded = load_with_places("catalogue:softmax_unscaled")
    report = check(loaded.candidate, document=loaded.document)
    assert report.candidate.source == "catalogue:softmax_unscaled"


@pytest.mark.parametrize("level", ["spec", "block", "mixer"])
@pytest.mark.parametrize("key", ["CD501", "score-scale"])
def test_a_suppression_silences_with_its_reason(level: str, key: str):
    lint = {"ignore": [{"rule": key, "reason": "a reproduction"}]}
    mixer = {**EXP, "scaling": {"base": 1.0}, **({"lint": lint} if level == "mixer" else {})}
    block = {"mixer": mixer, **({"lint": lint} if level == "block" else {})}
    report = check(resolved({"blocks": [block], **({"lint": lint} if level == "spec" else {})}))
    finding = next(finding for finding in report.findings if finding.code == "CD501")
    assert finding.suppressed == "a reproduction"
    assert verdicts(report)["CD501"] == "fail"
    assert "CD902" not in {finding.code for finding in report.findings}
    assert report.summary.errors == sum(f.severity == "error" for f in report.active)


def test_a_suppression_covers_its_own_block_only():
    lint = {"ignore": [{"rule": "CD501", "reason": "a reproduction"}]}
    mixer = {**EXP, "scaling": {"base": 1.0}}
    blocks = [{"mixer": mixer, "lint": lint}, *({"mixer": mixer} for _ in range(10))]
    found = [finding for finding in check(resolved({"blocks": blocks})).findings if finding.code == "CD501"]
    assert [finding.suppressed is not None for finding in found] == [True] + [False] * 10


@pytest.mark.parametrize(
    ("rule", "hint"), [("CD602", "reports nothing"), ("score-scle", "did you mean `score-scale`"), ("XX", "no rule")]
)
def test_an_unused_suppression_is_a_finding(rule: str, hint: str):
    report = check(resolved({"mixer": EXP, "lint": {"ignore": [{"rule": rule, "reason": "stale"}]}}))
    finding = next(finding for finding in report.findings if finding.code == "CD902")
    assert hint in finding.message
    assert finding.path == "lint.ignore[0]"
    assert finding.fix is not None
    assert finding.fix.applicability == "safe"


def test_a_suppression_of_a_rule_left_out_is_not_judged():
    spec = {"mixer": EXP, "lint": {"ignore": [{"rule": "CD602", "reason": "elsewhere"}]}}
    report = check(resolved(spec), Settings(ignore=("CD6",)))
    assert verdicts(report)["CD902"] == "pass"


@pytest.mark.parametrize("selectors", [("CD5",), ("CD501", "CD502"), ("score-scale", "score-unbounded-in-training")])
def test_select_takes_codes_prefixes_and_names(selectors: tuple[str, ...]):
    report = check(resolved({"mixer": EXP}), Settings(select=selectors))
    assert list(verdicts(report)) == ["CD501", "CD502"]


def test_severity_map_takes_the_closest_selector():
    settings = Settings(severity={"ALL": "info", "CD5": "warning", "score-scale": "error"})
    report = check(resolved({"blocks": [{"mixer": EXP | {"scaling": {"base": 3.0}}}, {"mixer": EXP}]}), settings)
    levels = {finding.code: finding.severity for finding in report.findings}
    assert (levels["CD101"], levels["CD501"], levels["CD502"]) == ("info", "error", "warning")


@pytest.mark.parametrize("settings", [{"select": ("CD0",)}, {"ignore": ("score-scael",)}, {"severity": {"": "info"}}])
def test_an_unknown_selector_is_bad_input(settings: dict[str, Any]):
    with pytest.raises(SpecError, match="names no rule"):
        Settings(**settings)


def test_one_unknown_among_passes_is_unknown():
    """Unknown never reads as pass, whatever the other mixers answer."""
    known = {"decay": {"granularity": "scalar", "initial": [0.9, 0.999]}}
    unknown = {"decay": {"granularity": "scalar"}}
    both = check(resolved({"blocks": [{"mixer": known}, {"mixer": unknown}]}))
    alone = check(resolved({"mixer": known}))
    assert (verdicts(alone)["CD701"], verdicts(both)["CD701"]) == ("pass", "unknown")


def test_a_verdict_shows_the_place_and_the_numbers_that_decide_it(monkeypatch: pytest.MonkeyPatch):
    numbers = {"a": {"x": quantity(1.0)}, "b": {"x": quantity(2.0, "tokens")}, "c": {}}
    answers: tuple[Any, ...] = ("pass", "unknown", "unknown")
    outcomes = [
        Outcome(answer, path, path, evidence=evidence)
        for answer, (path, evidence) in zip(answers, numbers.items(), strict=True)
    ]
    rules = tuple(replace(rule, check=lambda _: outcomes) for rule in all_rules() if rule.code == "CD501")
    monkeypatch.setattr(sys.modules[check.__module__], "_chosen", lambda *_: rules)
    report = check(resolved({"mixer": EXP}))
    (verdict,) = report.verdicts
    assert (verdict.verdict, verdict.path, verdict.evidence) == ("unknown", "b", numbers["b"])
    assert verdict.reason == "b (1 more alike)"
    assert report.findings == ()  # a number alone is no finding


def test_a_verdict_about_nothing_has_no_place():
    report = check(resolved({"blocks": [{"mixer": None}]}))
    empty = [verdict for verdict in report.verdicts if "nothing in this candidate to judge" in verdict.reason]
    assert empty
    assert all((verdict.verdict, verdict.path, verdict.evidence) == ("unknown", "", {}) for verdict in empty)


def test_unknown_and_inapplicable_carry_no_severity_above_info():
    for name in catalogue.names():
        report = check(catalogue.get(name).candidate)
        unknown = {verdict.code for verdict in report.verdicts if verdict.verdict == "unknown"}
        assert all(finding.severity == "info" for finding in report.findings if finding.code in unknown)


@pytest.mark.parametrize(("value", "word"), [(8.1, "confirmed"), (1.0, "contradicted")])
def test_a_measurement_confirms_or_contradicts_the_prediction(value: float, word: str):
    measured = Measurement(
        probe="score_scale", quantity="score_std", path="blocks[0].mixer", value=value, uncertainty=0.2, draws=8, seed=0
    )
    report = check(resolved({"mixer": {**EXP, "scaling": {"base": 1.0}}}), measurements=[measured])
    finding = next(finding for finding in report.findings if finding.code == "CD501")
    assert finding.probe is not None
    assert (finding.probe.verdict, finding.probe.value) == (word, value)


def test_parallel_branches_are_judged_apart():
    branches = {"parallel": [{**EXP, "rotation": {"source": "constant"}}, {**EXP, "scaling": {"base": 1.0}}]}
    report = check(resolved({"blocks": [{"mixer": branches}]}))
    paths = {finding.code: finding.path for finding in report.findings}
    assert paths["CD501"] == "blocks[0].mixer.parallel[1].scaling.base"
    assert paths["CD301"] == "blocks[0].mixer.parallel[1]"


def test_checkers_import_nothing_heavy():
    code = (
        "import sys; from checkers import check; from designspace import catalogue\n"
        "check(catalogue.get('gated_deltanet').candidate)\n"
        "print([name for name in ('torch', 'ray', 'optuna', 'sqlalchemy', 'numpy', 'networkx') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
