"""`sextant lint --format` and `--output`, the heat maps of the page, and the hooks of .pre-commit-hooks.yaml."""

import json
import re
import shlex
from pathlib import Path

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
