"""sarif: valid against the official schema, with what GitHub asks for and fingerprints that survive moved lines."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checkers import Report, all_rules, check
from checkers.formats.sarif import format as sarif
from checkers.formats.sarif import log
from designspace import catalogue
from designspace.document import parse, read
from designspace.specfile import is_config, load_document, load_with_places
from tests.checkers.fixed_report import FINDINGS, KNOWN, finding, report

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
    assert result["message"]["text"].endswith(finding().message)


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
    assert [rule["id"] for rule in rules] == [rule.code for rule in all_rules()]
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
