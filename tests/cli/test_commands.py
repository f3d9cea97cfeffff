"""What the commands print and how they exit."""

import json
import sys
from pathlib import Path

import pytest

from designspace.candidate import Candidate
from designspace.canonical import fingerprint
from designspace.specfile import load
from search.commands import demo
from search.commands.lint import retargeted
from tests.cli.conftest import ROOT, Run

CONFIGS = ROOT / "tests" / "configs"
UNSOUND = "mixer: {readout: {kind: exponential}, scaling: {base: 1}, normalization: {kind: sum}}\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["catalogue:gated_deltanet"], 0),
        (["catalogue:softmax_nope"], 0),
        (["catalogue:softmax_nope", "--fail-on", "warning"], 1),
        (["catalogue:softmax_nope", "--fail-on", "warning", "--ignore", "CD1"], 0),
        (["unsound.yaml"], 1),
        (["unsound.yaml", "--fail-on", "never"], 0),
        (["unsound.yaml", "--select", "CD1"], 0),
        (["my.yaml", "unsound.yaml"], 1),
        (["."], 1),
        (["my.yaml", "empty"], 2),
        (["nothing.yaml"], 2),
        (["catalogue:nothing"], 2),
        (["my.yaml", "--select", "CD9999"], 2),
        (["my.yaml", "--format", "txt"], 2),
        (["my.yaml", "--seq-len", "0"], 2),
        (["my.yaml", "--need", "recal"], 2),
        (["my.yaml", "--no-such-option"], 2),
        ([], 2),
    ],
)
def test_lint_exits_as_documented(arguments: list[str], code: int, sextant: Run, folder: Path) -> None:
    (folder / "unsound.yaml").write_text(UNSOUND)
    (folder / "empty").mkdir()
    outcome = sextant("lint", *arguments)
    assert outcome.code == code, outcome.err
    assert ("error: " in outcome.err or "Error: " in outcome.err) == (code == 2)


def test_a_folder_is_linted_spec_by_spec(sextant: Run) -> None:
    outcome = sextant("lint", ".", "--format", "json")
    assert [report["candidate"]["source"] for report in json.loads(outcome.out)] == ["config.json", "my.yaml"]
    assert outcome.err == "space.yaml: skipped, neither a spec nor a config.json\n"


def test_a_broken_file_of_a_folder_does_not_hide_the_others(sextant: Run, folder: Path) -> None:
    (folder / "broken.yaml").write_text("mixer:\n  readot: {}\n")
    (folder / "cut.json").write_text('{"mixer": ')
    outcome = sextant("lint", ".", "--format", "json")
    assert outcome.code == 2
    assert [report["candidate"]["source"] for report in json.loads(outcome.out)] == ["config.json", "my.yaml"]
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert [error.split(":")[1].strip() for error in errors] == ["broken.yaml", "cut.json"]
    assert "unknown key `readot`" in errors[0]


def test_an_internal_error_exits_2_with_one_line(sextant: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["checkers.check"], "check", lambda *_, **__: 1 / 0)
    outcome = sextant("lint", "my.yaml")
    assert outcome.code == 2
    assert outcome.err == "error: internal error: ZeroDivisionError: division by zero; --debug shows where.\n"


def test_debug_shows_the_traceback(sextant: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXTANT_DEBUG", "1")
    outcome = sextant("lint", "nothing.yaml")
    assert outcome.code == 2
    assert "Traceback" in outcome.err


def test_lint_reads_standard_input(sextant: Run, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with (folder / "my.yaml").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        outcome = sextant("lint", "-", "--format", "json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["candidate"]["source"] == "<stdin>"


def test_one_spec_gives_one_report_and_more_an_array(sextant: Run) -> None:
    one = json.loads(sextant("lint", "my.yaml", "--format", "json").out)
    more = json.loads(sextant("lint", "my.yaml", "config.json", "--format", "json").out)
    assert one["schema"] == "sextant.report/1"
    assert [report["candidate"]["source"] for report in more] == ["my.yaml", "config.json"]


def test_the_target_can_be_set_from_the_command_line(sextant: Run) -> None:
    arguments = ["--seq-len", "4096", "--dtype", "float16", "--need", "recall", "--format", "json"]
    target = json.loads(sextant("lint", "my.yaml", *arguments).out)["target"]
    assert (target["seq_len"], target["dtype"], target["needs"]) == (4096, "float16", ["recall"])


def test_findings_stand_at_their_line(sextant: Run, folder: Path) -> None:
    (folder / "unsound.yaml").write_text(
        "name: x\nmixer:\n  readout:\n    kind: exponential\n  scaling:\n    base: 1\n"
    )
    report = json.loads(sextant("lint", "unsound.yaml", "--format", "json", "--select", "CD501").out)
    span = report["findings"][0]["span"]
    assert (span["file"], span["line"]) == ("unsound.yaml", 6)


def test_an_unread_key_of_a_config_is_an_error_at_its_line(sextant: Run, folder: Path) -> None:
    data = json.loads((CONFIGS / "llama-2-7b.json").read_text())
    (folder / "config.json").write_text(json.dumps({**data, "magic": 3}, indent=1))
    outcome = sextant("lint", "config.json", "--format", "json", "--select", "CD905")
    finding = json.loads(outcome.out)["findings"][0]
    line = (folder / "config.json").read_text().split('"magic"')[0].count("\n") + 1
    assert outcome.code == 1
    assert (finding["severity"], finding["span"]["line"]) == ("error", line)
    assert "`magic`" in finding["message"]


def test_an_unread_key_that_bears_on_the_mixer_is_bad_input(sextant: Run, folder: Path) -> None:
    data = json.loads((CONFIGS / "llama-2-7b.json").read_text())
    (folder / "config.json").write_text(json.dumps({**data, "attention_magic": 3}, indent=1))
    line = (folder / "config.json").read_text().split("attention_magic")[0].count("\n") + 1
    for command in ("lint", "import"):
        outcome = sextant(command, "config.json")
        assert outcome.code == 2
        assert f"config.json:{line}:" in outcome.err
        assert "`attention_magic: 3`" in outcome.err


def test_a_scaling_of_the_angles_is_part_of_the_grammar(sextant: Run) -> None:
    outcome = sextant("lint", str(CONFIGS / "llama-3.1-8b.json"), "--format", "json", "--select", "CD905")
    assert outcome.code == 0
    assert json.loads(outcome.out)["findings"] == []


def test_new_writes_a_commented_spec_that_is_the_same(sextant: Run, folder: Path) -> None:
    assert sextant("new", "--from", "catalogue:rwkv7", "-o", "new.yaml").code == 0
    assert load(folder / "new.yaml") == load("catalogue:rwkv7")
    assert (folder / "new.yaml").read_text().count(" # ") > 20


def test_import_writes_a_spec_and_accounts_for_every_key(sextant: Run, folder: Path) -> None:
    outcome = sextant("import", "config.json", "-o", "spec.yaml", "--format", "json")
    account = json.loads(outcome.out)
    keys = {*account["read"], *account["ignored"], *account["unknown"]}
    assert keys == set(json.loads((folder / "config.json").read_text()))
    assert load(folder / "spec.yaml").blocks == load(folder / "config.json").blocks


def test_diff_names_the_fields_and_the_verdict(sextant: Run, folder: Path) -> None:
    (folder / "scaled.yaml").write_text("mixer: {use: gated_deltanet, decay: {granularity: none}}\n")
    outcome = sextant("diff", "my.yaml", "scaled.yaml", "--format", "json")
    found = json.loads(outcome.out)
    assert {"path": "blocks[0].mixer.decay.granularity", "a": "scalar", "b": "none"} in found["differences"]
    assert not found["same_fingerprint"]


@pytest.mark.parametrize("name", ["spec", "space"])
def test_schema_is_a_json_schema(name: str, sextant: Run) -> None:
    schema = json.loads(sextant("schema", name).out)
    assert {"mixer", "blocks", "model"} <= schema["properties"].keys()


def test_show_has_tuple_stack_and_cost(sextant: Run) -> None:
    out = sextant("show", "config.json").out
    assert "rotation" in out
    assert "blocks[0], 32 equal layers" in out
    assert "7,241," in out  # million parameters of Mistral 7B


def test_show_as_json_is_one_object(sextant: Run) -> None:
    found = json.loads(sextant("show", "config.json", "--seq-len", "4096", "--format", "json").out)
    assert Candidate.model_validate(found["candidate"]) == retargeted(load("config.json"), seq_len=4096)
    assert found["fingerprint"] == fingerprint(load("config.json"))
    assert found["cost"]["seq_len"] == 4096
    names = [node["name"] for node in found["graph"]["nodes"]]
    assert sum(node["kind"] == "mixer" for node in found["graph"]["nodes"]) == 32
    assert {"embedding", "head"} <= set(names)
    assert all({edge["from"], edge["to"]} <= set(names) for edge in found["graph"]["edges"])


def test_leaderboard_ranks_with_intervals(sextant: Run, results: str) -> None:  # noqa: ARG001
    rows = json.loads(sextant("leaderboard", "--format", "json").out)["rows"]
    assert [row["name"] for row in rows] == ["softmax_rope", "softmax_nope"]
    table = sextant("leaderboard").out
    assert "0.755 ± 0.064" in table  # t(0.975, 1) 0.01 / 2


def test_compare_pairs_the_seeds(sextant: Run, results: str) -> None:  # noqa: ARG001
    outcome = sextant("compare", "softmax_rope", "softmax_nope", "--format", "json")
    difference = json.loads(outcome.out)["tasks"][0]["difference"]
    assert difference["estimate"]["mean"] == pytest.approx(0.5)
    assert difference["seeds"] == [0, 1]


@pytest.mark.parametrize("command", [["leaderboard"], ["search", "list"], ["search", "status", "first"]])
def test_a_missing_store_is_said_so(command: list[str], sextant: Run) -> None:
    outcome = sextant(*command)
    assert outcome.code == 2
    assert outcome.err.startswith("error: No store at")


def test_train_prints_its_curve_and_saves_it(sextant: Run, folder: Path) -> None:
    arguments = ["--task", "parity", "--steps", "4", "-o", "curve.json"]
    outcome = sextant("train", "catalogue:retnet", *arguments)
    assert outcome.code == 0, outcome.err
    saved = json.loads((folder / "curve.json").read_text())
    assert saved["result"]["metrics"]["steps"] == 4
    assert "step      4/4" in outcome.out


@pytest.mark.slow
def test_demo_goes_from_lint_to_a_measured_contrast(
    sextant: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = demo._copy_files

    def copy_short(target: Path) -> None:
        copy(target)
        for space in (target / "space.yaml", target / "contrast.yaml"):
            space.write_text(space.read_text().replace("steps: 250", "steps: 2"))

    monkeypatch.setattr(demo, "_copy_files", copy_short)
    outcome = sextant("demo")
    assert outcome.code == 0, outcome.err
    assert "8 of 8 candidates; 32 runs done" in outcome.out
    assert "rejected before training" in outcome.out
    assert "2 of 2 candidates" in outcome.out
    rows = json.loads(sextant("leaderboard", "--store", "demo-output/demo.sqlite", "--format", "json").out)["rows"]
    assert len({row["fingerprint"] for row in rows}) >= 9
    assert {*folder.iterdir()} >= {folder / "demo-output"}
