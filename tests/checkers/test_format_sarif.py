"""sarif: valid against the official schema, with what GitHub asks for and fingerprints that survive moved lines."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checkers import Report, all_rules, check, explain
from checkers.confirmation import LIMITS
from checkers.edits import Replacement
from checkers.finding import Place, fault_code
from checkers.formats import sarif as unit
from checkers.formats.sarif import format as sarif
from checkers.formats.sarif import log
from designspace import catalogue
from designspace.document import parse, read
from designspace.specfile import is_config, load_document, load_with_places
from tests.checkers.fixed_report import FAULT, FINDINGS, KNOWN, finding, probed, report

SCHEMA = Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json"
FINGERPRINT = re.compile(r"[0-9a-f]{16}:[1-9]\d*")
TEXT_LIMIT, NAME_LIMIT, MOST_TAGS = 1024, 255, 20  # GitHub
SPEC = """\
blocks:
  - mixer: {readout: {kind: exponential}, scaling: {base: 1.0}, normalization: {kind: sum}}
"""


@cache
def validator() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads(SCHEMA.read_text()), format_checker=jsonschema.FormatChecker())


def run(*reports: Report) -> dict[str, Any]:
    data = json.loads(sarif.render(reports))
    assert not list(validator().iter_errors(data))
    found: dict[str, Any] = data["runs"][0]
    return found


def hashes(text: str) -> list[str]:
    loaded = load_document(parse(text, "a.yaml"))
    results = run(check(loaded.candidate, document=loaded.document))["results"]
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]


def test_the_schema_refuses_what_sarif_does_not_know():
    data = log([report()])
    data["runs"][0]["results"][0]["level"] = "info"
    assert list(validator().iter_errors(data))


def test_a_result_says_what_and_where():
    result = run(report(finding()))["results"][0]
    assert (result["ruleId"], result["level"]) == ("CD501", "error")
    assert all_rules()[result["ruleIndex"]].code == "CD501"
    place = result["locations"][0]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "specs/a%20b.yaml"},
        "region": {"startLine": 7, "startColumn": 12, "endLine": 7, "endColumn": 16},
    }
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "blocks[0].mixer.scaling.base"
    text = "std 8, 100% outside [0.5, 2]: a < b & c | d. At blocks[0].mixer.scaling.base of specs/a b.yaml."
    assert result["message"]["text"] == text


def test_levels_are_those_of_sarif():
    found = run(report(*(finding(severity=level) for level in ("error", "warning", "info"))))["results"]
    assert [result["level"] for result in found] == ["error", "warning", "note"]


def test_equal_findings_are_told_apart_by_their_order():
    found = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run(report())["results"]]
    assert found == ["00000000000000cc:1", "00000000000000bb:1", "00000000000000aa:1", "00000000000000aa:2"]


def test_silenced_findings_carry_their_suppression():
    in_source, other, *_ = run(report())["results"]
    accepted = {"kind": "inSource", "status": "accepted", "justification": "a reproduction"}
    assert in_source["suppressions"] == [accepted]
    assert "suppressions" not in other
    known = run(report(KNOWN))["results"][0]
    assert (known["suppressions"][0]["kind"], known["baselineState"]) == ("external", "unchanged")


def test_every_rule_has_what_github_requires():
    rules = run()["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [*(rule.code for rule in all_rules()), *map(fault_code, LIMITS)]
    for rule in rules:
        texts = [rule[key]["text"] for key in ("shortDescription", "fullDescription")]
        assert all(0 < len(text) <= TEXT_LIMIT for text in texts)
        assert rule["help"]["text"]
        assert len(rule["name"]) <= NAME_LIMIT
        assert len(rule["properties"]["tags"]) <= MOST_TAGS
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert "security-severity" not in rule["properties"]


def test_fingerprints_survive_moved_lines_names_and_suppressions():
    moved = f"# a comment\n\nname: other\n{SPEC}lint:\n  ignore: [{{rule: CD501, reason: a reproduction}}]\n"
    written_out = SPEC.replace("base: 1.0", "where: score, base: 1")
    assert hashes(SPEC) == hashes(moved)
    assert len(set(hashes(SPEC))) == len(hashes(SPEC)) > 2
    assert hashes(SPEC) == hashes(written_out)


@pytest.mark.parametrize("base", ["2.0", "1.5"])
def test_a_finding_on_another_value_is_another_finding(base: str):
    changed = set(hashes(SPEC.replace("base: 1.0", f"base: {base}")))
    assert changed != set(hashes(SPEC))
    assert changed & set(hashes(SPEC))  # rules that do not read the base


def test_a_spec_without_a_file_names_the_one_it_would_have():
    found = run(check(catalogue.get("linear").candidate))["results"]
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in found}
    assert uris == {f"specs/{check(catalogue.get('linear').candidate).candidate.fingerprint}.yaml"}


def test_a_log_of_a_hundred_specs_validates():
    files = sorted(map(str, (Path(__file__).parents[1] / "configs").glob("*.json")))
    configs = [file for file in files if is_config(read(file, special_numbers=True))]
    specs = [*(f"catalogue:{name}" for name in catalogue.names()), *configs][:100]
    assert len(specs) == 100
    loaded = [load_with_places(spec) for spec in specs]
    reports = [check(one.candidate, document=one.document) for one in loaded]
    results = run(*reports)["results"]
    assert len(results) == sum(len(one.findings) for one in reports)
    assert all(FINGERPRINT.fullmatch(one["partialFingerprints"]["primaryLocationLineHash"]) for one in results)


def test_the_fixed_report_has_one_result_for_each_finding():
    assert len(run(report())["results"]) == len(FINDINGS)


def test_a_fault_is_a_result_of_a_documented_rule_of_its_own():
    found = run(probed())
    result = found["results"][-1]
    rule = found["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (result["ruleId"], rule["id"], result["level"]) == ("probe-later-tokens", "probe-later-tokens", "error")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    assert (result["properties"]["value"], result["properties"]["limit"]) == (FAULT.value, FAULT.limit)
    assert FINGERPRINT.fullmatch(result["partialFingerprints"]["primaryLocationLineHash"])


def test_every_fault_that_probes_find_has_a_rule():
    faults = tuple(FAULT.model_copy(update={"quantity": quantity}) for quantity in (*LIMITS, "response.decay"))
    found = run(report(finding()).model_copy(update={"faults": faults}))
    assert [one["ruleId"] for one in found["results"][1:]] == [*map(fault_code, LIMITS), "probe-response"]


def test_a_result_says_what_a_probe_says():
    first, second, _ = run(probed())["results"]
    assert first["message"]["text"].endswith(
        " Probe: contradicted, score_std = 6.3 ± 0.05 over 8 seeds at length 64 (expected at least 6.8)."
    )
    assert (first["properties"]["probe"]["verdict"], second["properties"]["probe"]["verdict"]) == (
        "contradicted",
        "not measured",
    )


def test_fixes_are_replacements_of_the_file():
    place = Place(file="a.yaml", line=7, column=12, end_line=7, end_column=13)
    text = sarif.rewrite([report(finding(), finding())], [{1: [Replacement(place, "n^-1/2")]}]) if sarif.rewrite else ""
    data = json.loads(text)
    assert not list(validator().iter_errors(data))
    without, fixed = data["runs"][0]["results"]
    assert "fixes" not in without
    (fix,) = fixed["fixes"]
    assert fix["description"]["text"] == "unsafe: set blocks[0].mixer.scaling to n^-1/2."
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "specs/a%20b.yaml"
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 7, "startColumn": 12, "endLine": 7, "endColumn": 13},
            "insertedContent": {"text": "n^-1/2"},
        }
    ]


def test_rules_link_to_their_pages_where_the_project_has_an_address(monkeypatch: pytest.MonkeyPatch):
    assert not any("helpUri" in unit._rule(rule) for rule in all_rules()) or explain._documentation()
    monkeypatch.setattr(explain, "_documentation", lambda: "https://host/docs/")
    rule = all_rules()[0]
    assert unit._rule(rule)["helpUri"] == f"https://host/docs/rules/{explain.page_name(rule)}"


def test_github_gets_no_more_results_than_it_takes_and_the_log_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unit, "MOST_RESULTS", 3)
    infos = [finding(severity="info", message=f"info {index}") for index in range(3)]
    found = run(report(*infos, finding(message="the error"), finding(severity="warning", message="a warning")))
    assert [one["message"]["text"].split(".")[0] for one in found["results"]] == ["info 0", "the error", "a warning"]
    (notification,) = found["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("2 results are left out")
    assert "invocations" not in run(report(finding()))
