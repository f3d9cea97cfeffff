"""Settings files, baselines and suppressions as `sextant lint` obeys them."""

import json
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from checkers import Settings
from designspace.document import parse
from designspace.errors import SpecError
from search import ledger, study
from search.space import space_of
from search.store import open_store
from tests.cli.conftest import Run

UNSOUND = "mixer: {readout: {kind: exponential}, scaling: {base: 1}, normalization: {kind: sum}}\n"
SOUND = UNSOUND.replace("base: 1", "base: n^-1/2")


@pytest.fixture
def spec(folder: Path) -> str:
    """An unsound spec in a folder of its own."""
    (folder / "specs").mkdir()
    (folder / "specs" / "unsound.yaml").write_text(UNSOUND)
    return "specs/unsound.yaml"


@pytest.mark.parametrize(
    ("settings", "arguments", "code"),
    [
        ("", [], 1),
        ('select = ["CD1"]', [], 0),
        ('select = ["CD1"]', ["--fail-on", "warning"], 1),
        ('select = ["CD1"]', ["--select", "CD5"], 1),
        ('select = ["CD1"]', ["--extend-select", "CD5"], 1),
        ('ignore = ["CD3", "CD5"]', [], 0),
        ('ignore = ["CD3", "CD5"]', ["--ignore", "CD1"], 1),
        ('ignore = ["CD3", "CD5"]', ["--isolated"], 1),
        ('ignore = ["CD3", "CD5"]\nfail-on = "warning"', [], 1),
        ('ignore = ["CD3", "CD5"]\nfail-on = "warning"', ["--fail-on", "error"], 0),
        ('severity = {ALL = "info"}', [], 0),
        ('ignore = ["CD3"]\nthresholds.score-scale = {band = [0.5, 9], wide-band = [0.5, 9]}', [], 0),
        ('per-file-ignores = {"specs/**" = ["ALL"]}', [], 0),
        ('fail-on = "never"', [], 0),
        ('select = ["CD9999"]', [], 2),
        ('select = ["CD9999"]', ["--isolated"], 1),
    ],
)
def test_the_exit_code_follows_the_settings(
    settings: str, arguments: list[str], code: int, spec: str, sextant: Run, folder: Path
) -> None:
    (folder / "sextant.toml").write_text(settings)
    outcome = sextant("lint", spec, *arguments)
    assert outcome.code == code, outcome.err


def test_each_spec_of_one_call_has_the_settings_of_its_folder(spec: str, sextant: Run, folder: Path) -> None:
    (folder / "specs" / "sextant.toml").write_text('select = ["CD5"]\n')
    (folder / "top.yaml").write_text(UNSOUND)
    reports = json.loads(sextant("lint", spec, "top.yaml", "--format", "json").out)
    assert {verdict["code"][:3] for verdict in reports[0]["verdicts"]} == {"CD5"}
    assert len(reports[1]["verdicts"]) > 20


def test_each_spec_fails_by_the_limit_of_its_folder(spec: str, sextant: Run, folder: Path) -> None:
    (folder / "specs" / "sextant.toml").write_text('fail-on = "never"\n')
    (folder / "top.yaml").write_text(UNSOUND)
    assert sextant("lint", spec).code == 0
    assert sextant("lint", spec, "top.yaml").code == 1
    assert sextant("lint", "my.yaml", spec).code == 0


def test_a_mistake_is_one_line_with_file_line_and_remedy(spec: str, sextant: Run, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project]\n[tool.sextant]\nignore = ["score-scle"]\n')
    outcome = sextant("lint", spec)
    assert outcome.code == 2
    assert outcome.err == "error: pyproject.toml:3: `score-scle` names no rule; did you mean `score-scale`?\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "nothing.toml"], "error: nothing.toml: no such settings file"),
        (["--config", "team.toml", "--isolated"], "give one of the two"),
        (["--select", "CD77"], "`CD77` names no rule"),
        (["--show-settings", "--format", "nothing"], "is no output format"),
        (["--baseline", "use", "nothing.json"], "`--baseline write nothing.json` makes it"),
        (["--baseline", "prune", "nothing.json"], "`--baseline write nothing.json` makes it"),
        (["--baseline", "write", "my.yaml"], "my.yaml:1: not a JSON file"),
        (["--baseline", "write", "no/folder.json"], "cannot be written"),
        (["--baseline", "forget", "known.json"], "'forget' is not one of"),
    ],
)
def test_bad_options_exit_2(arguments: list[str], message: str, spec: str, sextant: Run, folder: Path) -> None:
    (folder / "team.toml").write_text("")
    outcome = sextant("lint", spec, *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_config_names_the_file_of_every_spec(spec: str, sextant: Run, folder: Path) -> None:
    (folder / "sextant.toml").write_text('fail-on = "info"\n')
    (folder / "team.toml").write_text('select = ["CD1"]\n')
    assert sextant("lint", spec, "catalogue:softmax_nope", "--config", "team.toml").code == 0


def test_show_settings_says_where_each_value_came_from(spec: str, sextant: Run, folder: Path) -> None:
    (folder / "sextant.toml").write_text("[thresholds.short-horizon]\nvanishing = 4\n")
    outcome = sextant("lint", spec, "my.yaml", "--ignore", "CD1", "--show-settings", "--format", "json")
    shown = json.loads(outcome.out)
    assert (outcome.code, shown["schema"], len(shown["groups"])) == (0, "sextant.settings/1", 1)
    group = shown["groups"][0]
    assert (group["specs"], group["file"]) == ([spec, "my.yaml"], "sextant.toml")
    rows = {row["key"]: (row["value"], row["unit"], row["from"]) for row in group["settings"]}
    assert rows["ignore"] == (["CD1"], "", "command line")
    assert rows["thresholds.short-horizon.vanishing"] == (4.0, "steps", "sextant.toml:2")
    assert rows["fail-on"] == ("error", "", "default")
    assert "CD501" in group["rules"]
    assert "CD101" not in group["rules"]


def test_show_settings_as_text_groups_specs_with_the_same_settings(spec: str, sextant: Run, folder: Path) -> None:
    (folder / "specs" / "sextant.toml").write_text('ignore = ["CD1"]\n')
    outcome = sextant("lint", spec, "my.yaml", "--show-settings")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["ignore", "[CD1]", "specs/sextant.toml:1"] in lines
    assert ["ignore", "[]", "default"] in lines
    assert "settings file: none" in outcome.out


@pytest.mark.usefixtures("spec")
def test_a_baseline_lets_only_new_findings_fail(sextant: Run, folder: Path) -> None:
    written = sextant("lint", "specs", "--baseline", "write", "known.json")
    count = len(json.loads(sextant("lint", "specs", "--format", "json").out)["findings"])
    assert count > 1
    assert (written.code, written.err) == (0, f"baseline known.json: {count} findings written\n")
    used = sextant("lint", "specs", "--baseline", "use", "known.json")
    assert (used.code, used.err) == (0, f"baseline known.json: {count} known findings hidden\n")
    assert "CD501 score-scale  " not in used.out
    (folder / "specs" / "new.yaml").write_text(UNSOUND)
    assert sextant("lint", "specs", "--baseline", "use", "known.json").code == 1


def test_stale_entries_fail_until_pruned(spec: str, sextant: Run, folder: Path) -> None:
    (folder / "sextant.toml").write_text('select = ["CD5"]\n')
    sextant("lint", spec, "--baseline", "write", "known.json")
    (folder / spec).write_text(SOUND)
    used = sextant("lint", spec, "--baseline", "use", "known.json")
    assert used.code == 1
    assert "stale: specs/unsound.yaml: CD501 score-scale at blocks[0].mixer.scaling.base" in used.err
    assert sextant("lint", spec, "--baseline", "use", "known.json", "--fail-on", "never").code == 0
    pruned = sextant("lint", spec, "--baseline", "prune", "known.json")
    assert (pruned.code, pruned.err.splitlines()[0]) == (0, "baseline known.json: 1 stale finding removed")
    assert sextant("lint", spec, "--baseline", "use", "known.json").code == 0


def test_pruning_makes_nothing_known(spec: str, sextant: Run, folder: Path) -> None:
    (folder / spec).write_text(SOUND)
    sextant("lint", spec, "--baseline", "write", "known.json")
    (folder / spec).write_text(UNSOUND)
    assert sextant("lint", spec, "--baseline", "prune", "known.json").code == 1
    assert "CD501" not in (folder / "known.json").read_text()


@pytest.mark.parametrize(
    ("entries", "unused"),
    [
        ("[{rule: CD501, reason: known}]", []),
        ("[{rule: CD501, reason: known}, {rule: score-scale, reason: twice}]", ["lint.ignore[1]"]),
        ("[{rule: CD601, reason: known}]", ["lint.ignore[0]"]),
        ("[{rule: CD601, reason: known}, {rule: CD902, reason: later}]", []),
        ("[{rule: CD902, reason: nothing}]", ["lint.ignore[0]"]),
        ("[{rule: no-such-rule, reason: known}]", ["lint.ignore[0]"]),
    ],
)
def test_unused_suppressions_are_findings(entries: str, unused: list[str], sextant: Run, folder: Path) -> None:
    (folder / "my.yaml").write_text(f"{UNSOUND}lint: {{ignore: {entries}}}\n")
    report = json.loads(sextant("lint", "my.yaml", "--format", "json").out)
    findings = [one for one in report["findings"] if one["code"] == "CD902" and one["suppressed"] is None]
    assert [finding["path"] for finding in findings] == unused
    assert all(finding["fix"]["edits"][0]["action"] == "remove" for finding in findings)


@pytest.mark.parametrize("reason", ["", ", reason: ''", ", reason: '  '", ", reason: 3"])
def test_a_suppression_needs_a_reason(reason: str, sextant: Run, folder: Path) -> None:
    (folder / "my.yaml").write_text(f"{UNSOUND}lint:\n  ignore: [{{rule: CD501{reason}}}]\n")
    outcome = sextant("lint", "my.yaml")
    assert outcome.code == 2
    assert "my.yaml:3: `reason`" in outcome.err


def test_a_search_rejects_by_the_settings_that_lint_has_and_keeps_them(
    sextant: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "PATIENCE", 3)
    (folder / "sextant.toml").write_text('severity = {ALL = "error"}\n')
    space = "mixer: {use: gated_deltanet, heads: {num_heads: 4}}\ntasks: [parity]\n"
    (folder / "narrow.yaml").write_text(space)
    outcome = sextant("search", "run", "narrow.yaml", "--study", "s", "--no-ray", "--store", "s.sqlite")
    assert "0 runs done" in outcome.out
    assert "rejected" in outcome.out
    with closing(open_store("s.sqlite", create=False)) as store:
        assert ledger.study(store, "s").space["checker"] == {"severity": {"ALL": "error"}}


@pytest.mark.parametrize("arguments", [["--config", "nothing.toml"], ["--config", "sextant.toml", "--isolated"], []])
def test_a_mistake_in_the_settings_of_a_search_is_bad_input(arguments: list[str], sextant: Run, folder: Path) -> None:
    (folder / "sextant.toml").write_text('ignore = ["CD9999"]\n')
    outcome = sextant("search", "run", "space.yaml", "--study", "s", "--store", "s.sqlite", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert not (folder / "s.sqlite").exists()


@pytest.mark.parametrize(
    ("selector", "is_known"),
    [
        ("ALL", True),
        ("CD5", True),
        ("CD501", True),
        ("score-scale", True),
        ("", False),
        ("CD99", False),
        ("CD50x", False),
    ],
)
def test_a_space_rejects_by_the_selectors_of_the_checker(selector: str, is_known: bool, folder: Path) -> None:
    text = (folder / "space.yaml").read_text().replace("reject: [error]", f"reject: [error, {json.dumps(selector)}]")
    assert json.dumps(selector) in text
    for make in (lambda: space_of(parse(text, "space.yaml")), lambda: Settings(select=(selector,))):
        with nullcontext() if is_known else pytest.raises(SpecError):
            make()
