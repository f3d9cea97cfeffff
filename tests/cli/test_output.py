"""`sextant lint --format` and `--output`, the heat maps of the page, and the hooks of .pre-commit-hooks.yaml."""

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
import yaml

from designspace import catalogue
from designspace.units import names
from search.commands.heatmaps import heatmaps, magnitudes
from search.commands.output import FORMATS
from tests.cli.conftest import ROOT, Run
from workers.coefficients import coefficients
from workers.realise import random_signals

UNSOUND = "mixer: {readout: {kind: exponential}, scaling: {base: 1}, normalization: {kind: sum}}\n"
SILENCED = f"{UNSOUND}lint: {{ignore: [{{rule: CD501, reason: a reproduction}}]}}\n"
THOUSAND = 1000
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.mark.parametrize("name", names(FORMATS))
def test_every_format_prints_and_writes_the_same(name: str, sextant: Run, folder: Path) -> None:
    (folder / "unsound.yaml").write_text(UNSOUND)
    printed = sextant("lint", "unsound.yaml", "--format", name)
    written = sextant("lint", "unsound.yaml", "--format", name, "--output", "report.out")
    assert printed.code == written.code == 1
    assert written.out == ""
    assert written.err == "report.out: 1 report written\n"
    assert (folder / "report.out").read_text(encoding="utf-8") == printed.out
    assert "CD501" in printed.out


def test_a_file_that_cannot_be_written_is_bad_input(sextant: Run) -> None:
    outcome = sextant("lint", "my.yaml", "--output", "no/such/folder.txt")
    assert outcome.code == 2
    assert "no/such/folder.txt: cannot be written" in outcome.err


def test_sarif_keeps_silenced_findings_on_request_only(sextant: Run, folder: Path) -> None:
    (folder / "silenced.yaml").write_text(SILENCED)
    plain = json.loads(sextant("lint", "silenced.yaml", "--format", "sarif").out)
    kept = json.loads(sextant("lint", "silenced.yaml", "--format", "sarif", "--show-suppressed").out)
    assert not [one for one in plain["runs"][0]["results"] if one["ruleId"] == "CD501"]
    (found,) = [one for one in kept["runs"][0]["results"] if one["ruleId"] == "CD501"]
    assert found["suppressions"][0]["justification"] == "a reproduction"


@pytest.fixture
def thousand(folder: Path) -> str:
    """A folder of 1,000 spec files: every published mixer at lengths of its own."""
    specs = folder / "specs"
    specs.mkdir()
    published = catalogue.names()
    for index in range(THOUSAND):
        name = published[index % len(published)]
        text = f"# {name}\nname: {name}-{index}\nmixer: {{use: {name}}}\ntarget: {{seq_len: {1024 + index}}}\n"
        (specs / f"{index:04}.yaml").write_text(text)
    return "specs"


def test_a_log_of_a_thousand_specs_validates_and_keeps_the_limits_of_github(
    thousand: str, sextant: Run, folder: Path
) -> None:
    sextant("lint", thousand, "--format", "sarif", "--output", "log.sarif")
    findings = json.loads(sextant("lint", thousand, "--format", "json").out)
    content = (folder / "log.sarif").read_bytes()
    log = json.loads(content)
    schema = json.loads((ROOT / "tests" / "data" / "sarif-schema-2.1.0.json").read_text())
    assert not list(jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker()).iter_errors(log))
    results = log["runs"][0]["results"]
    assert len(findings) == THOUSAND
    assert len(results) == sum(len(report["findings"]) for report in findings) < 25_000
    assert len(gzip.compress(content)) < 10_000_000
    fingerprints = [
        (one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], *one["partialFingerprints"].values())
        for one in results
    ]
    assert len(set(fingerprints)) == len(results)
    assert sum("fixes" in one for one in results) > 100


def replaced(text: str, replacements: list[dict[str, Any]]) -> str:
    """The text after the replacements of a SARIF fix, as a tool that knows nothing of specs applies them."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for one in reversed(replacements):
        region = one["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + one["insertedContent"]["text"] + text[end:]
    return text


def test_the_fixes_of_a_log_repair_the_file(sextant: Run, folder: Path) -> None:
    text = f"# scores\n{UNSOUND}lint: {{ignore: [{{rule: CD601, reason: none}}]}}  # stale\n"
    (folder / "unsound.yaml").write_text(text)
    log = json.loads(sextant("lint", "unsound.yaml", "--format", "sarif").out)
    found = {one["ruleId"]: one["fixes"][0] for one in log["runs"][0]["results"] if "fixes" in one}
    assert found.keys() == {"CD501", "CD902"}
    for code, fix in found.items():
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"]["uri"] == "unsound.yaml"
        (folder / "fixed.yaml").write_text(replaced(text, change["replacements"]))
        after = json.loads(sextant("lint", "fixed.yaml", "--format", "json").out)
        assert code not in {finding["code"] for finding in after["findings"]}
        assert (folder / "fixed.yaml").read_text().startswith("# scores\n")


def test_what_cannot_be_edited_has_no_replacements(sextant: Run) -> None:
    log = json.loads(sextant("lint", "catalogue:softmax_unscaled", "config.json", "--format", "sarif").out)
    assert not [one for one in log["runs"][0]["results"] if "fixes" in one]


def test_text_folds_what_deep_stacks_say_alike_and_counts_every_finding(sextant: Run, folder: Path) -> None:
    blocks = "".join(f"- {UNSOUND.replace('base: 1', f'base: {base}')}" for base in range(1, 71))
    (folder / "deep.yaml").write_text(f"blocks:\n{blocks}")
    text = " ".join(sextant("lint", "deep.yaml").out.split())
    report = json.loads(sextant("lint", "deep.yaml", "--format", "json").out)
    lines = sextant("lint", "deep.yaml", "--format", "concise").out.splitlines()
    scale = [finding for finding in report["findings"] if finding["code"] == "CD501"]
    assert len(scale) == sum(" CD501 " in line for line in lines) == 70
    assert text.count("CD501 score-scale") == 1
    assert "error CD501 score-scale deep.yaml:2:51 blocks[0..69].mixer.scaling.base (70 layers)" in text
    assert "at blocks[0].mixer.scaling.base: score std 8 at" in text
    assert "at blocks[69].mixer.scaling.base: score std 560 at" in text
    assert "and 68 more between these two; --format concise shows each score_std = 8 to 560" in text
    assert (report["summary"]["errors"], report["summary"]["warnings"], report["summary"]["infos"]) == (70, 70, 1)
    assert "70 errors, 70 warnings, 1 info in " in text


def test_an_info_that_holds_for_many_layers_is_told_once(sextant: Run, folder: Path) -> None:
    (folder / "deep.yaml").write_text("blocks:\n" + UNSOUND.removesuffix("\n").join(["- ", "\n- ", "\n- ", "\n"]))
    report = json.loads(sextant("lint", "deep.yaml", "--format", "json").out)
    (info,) = [finding for finding in report["findings"] if finding["severity"] == "info"]
    assert (info["path"].partition(".")[0], len(info["also"])) == ("blocks[0]", 2)
    assert [one["path"] for one in info["also"]] == [info["path"].replace("[0]", f"[{index}]") for index in (1, 2)]
    assert [one["span"]["line"] for one in info["also"]] == [3, 4]
    assert (
        f"[also at blocks[1..2]{info['path'].removeprefix('blocks[0]')}]"
        in sextant("lint", "deep.yaml", "--format", "concise").out
    )
    sarif = json.loads(sextant("lint", "deep.yaml", "--format", "sarif").out)["runs"][0]["results"]
    (note,) = [result for result in sarif if result["level"] == "note"]
    related = note["relatedLocations"]
    assert [one["physicalLocation"]["region"]["startLine"] for one in related] == [3, 4]
    places = [one["logicalLocations"][0]["fullyQualifiedName"] for one in related]
    assert places == [one["path"] for one in info["also"]]


def test_a_repeated_block_says_how_many_layers_it_is(sextant: Run, folder: Path) -> None:
    block = UNSOUND.removesuffix("\n")
    (folder / "deep.yaml").write_text(f"blocks:\n- repeat: 12\n  {block}\n- {block}\n")
    text = " ".join(sextant("lint", "deep.yaml").out.split())
    assert "deep.yaml:3:51 blocks[0..1].mixer.scaling.base (13 layers)" in text


def test_the_page_has_the_stack_and_the_coefficients(sextant: Run) -> None:
    page = sextant("lint", "my.yaml", "--format", "html").out
    heads = catalogue.get("gated_deltanet").candidate.blocks[0].mixer.heads.num_heads
    assert len(re.findall("<figcaption>", page)) == 2
    assert f"blocks[0].mixer, head {heads} of {heads}" in page
    assert "24 random tokens at initialisation, seed 0." in page
    assert 'class="box mixer' in page


@pytest.mark.parametrize("name", ["softmax_alibi", "retnet", "mamba2", "gated_deltanet", "rwkv6", "softmax_sink"])
def test_the_heads_of_a_heat_map_are_those_of_the_definition(name: str) -> None:
    mixer = catalogue.get(name).candidate.blocks[0].mixers[0]
    heads = [0, mixer.heads.num_heads - 1]
    signals = random_signals(mixer, seed=0, batch=1, seq_len=6)
    expected = coefficients(mixer, signals, target_len=64)[0].abs()[heads]
    found = torch.tensor(magnitudes(mixer, heads, seq_len=6, target_len=64), dtype=torch.float64)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", catalogue.names())
def test_a_causal_mixer_has_nothing_above_the_diagonal(name: str) -> None:
    candidate = catalogue.get(name).candidate
    for one in heatmaps(candidate):
        rank = len(one.rows[0]) // len(one.rows) if one.rows else 1
        above = [value for i, row in enumerate(one.rows) for value in row[(i + 1) * rank :]]
        assert not any(above) or any(mixer.mixer.support.mask == "none" for mixer in candidate.mixers())
        assert all(value == value for row in one.rows for value in row)


def test_every_kind_of_mixer_of_a_deep_stack_is_drawn() -> None:
    titles = [one.title for one in heatmaps(catalogue.get("lightning_minimax").candidate)]
    assert [title.split(",")[0] for title in titles[::2]] == [
        "blocks[0].mixer",
        "blocks[7].mixer and 9 more",
        "blocks[78].mixer",
        "and 68 more mixers that look alike or are further down",
    ]


def test_mixers_outside_the_grammar_say_why_there_is_no_map() -> None:
    candidate = catalogue.get("ttt_linear").candidate
    assert [(one.rows, "Outside the grammar" in one.note) for one in heatmaps(candidate)] == [((), True)]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_the_entry_of_a_hook_runs(hook: dict[str, str], sextant: Run, folder: Path) -> None:
    specs = folder / "specs"
    specs.mkdir()
    (specs / "unsound.yaml").write_text(UNSOUND)
    (specs / "sound.yaml").write_text("mixer: {use: gated_deltanet}\n")
    command, *arguments = shlex.split(hook["entry"])
    assert command == "sextant"
    files = ["specs/sound.yaml", "specs/unsound.yaml"]
    assert all(re.search(hook["files"], file) for file in files)
    outcome = sextant(*arguments, *files)
    assert outcome.code == 1, outcome.err
    assert re.search(r"^specs/unsound\.yaml:\d+:\d+: CD501 error ", outcome.out, re.MULTILINE)
    assert sextant(*arguments, "specs/sound.yaml").code == 0


@pytest.mark.parametrize("file", ["README.md", "docker-compose.yml", ".github/workflows/ci.yml", "specs/notes.txt"])
def test_hooks_leave_other_files_alone(file: str) -> None:
    assert not any(re.search(hook["files"], file) for hook in HOOKS)


def test_hooks_have_the_documented_ids() -> None:
    assert [hook["id"] for hook in HOOKS] == ["sextant-lint", "sextant-fix"]
