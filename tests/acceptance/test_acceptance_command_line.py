"""The command line: exit codes, the JSON report, help."""

import json
from pathlib import Path

import pytest
from given import ROOT, sextant

from checkers import check
from designspace.canonical import fingerprint
from designspace.specfile import load, load_with_places, loads

UNSOUND = (
    "mixer:\n  readout: {kind: exponential}\n  normalization: {kind: sum}\n  scaling: {base: 1.0}\n"  # std 8: error
)
WARNED = "blocks:\n- repeat: 2\n  mixer: {use: softmax_rope}\n"  # quadratic cost: warning
CLEAN = "blocks:\n- repeat: 2\n  mixer: {use: gated_deltanet, decay: {initial: [0.9, 0.9999]}}\n"


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    (tmp_path / "unsound.yaml").write_text(UNSOUND)
    (tmp_path / "warned.yaml").write_text(WARNED)
    (tmp_path / "clean.yaml").write_text(CLEAN)
    (tmp_path / "config.json").write_bytes((ROOT / "tests" / "configs" / "mistral-7b-v0.1.json").read_bytes())
    return tmp_path


EXITS: list[tuple[list[str], int]] = [
    (["unsound.yaml"], 1),
    (["warned.yaml"], 0),
    (["clean.yaml"], 0),
    (["warned.yaml", "--fail-on", "warning"], 1),
    (["clean.yaml", "--fail-on", "warning"], 0),
    (["clean.yaml", "--fail-on", "info"], 1),
    (["unsound.yaml", "--fail-on", "never"], 0),
    (["unsound.yaml", "--ignore", "CD501,CD301"], 0),
    (["unsound.yaml", "--ignore", "score-scale,position-blind"], 0),
    (["unsound.yaml", "--select", "CD1"], 0),
    (["clean.yaml", "unsound.yaml"], 1),
    (["config.json"], 0),
    (["catalogue:softmax_unscaled"], 1),
    (["catalogue:softmax_nope", "--fail-on", "warning"], 1),
    (["missing.yaml"], 2),
    (["catalogue:nothing"], 2),
    (["clean.yaml", "missing.yaml"], 2),
    (["unsound.yaml", "missing.yaml"], 2),
    (["clean.yaml", "--select", "CD999"], 2),
    (["clean.yaml", "--ignore", "nonsense"], 2),
    (["clean.yaml", "--format", "nonsense"], 2),
    (["clean.yaml", "--fail-on", "fatal"], 2),
    (["clean.yaml", "--seq-len", "0"], 2),
    (["clean.yaml", "--dtype", "float12"], 2),
    (["clean.yaml", "--need", "speed"], 2),
    ([], 2),
]


@pytest.mark.parametrize(("arguments", "code"), EXITS, ids=[" ".join(one[0]) for one in EXITS])
def test_exit_codes_of_lint(specs: Path, arguments: list[str], code: int) -> None:
    found = sextant("lint", *arguments, cwd=specs)
    assert found.returncode == code, found.stdout + found.stderr
    if code == 2:
        assert "Traceback" not in found.stderr
        assert found.stderr.strip()


def test_lint_reads_a_folder_standard_input_and_overrides(specs: Path) -> None:
    found = sextant("lint", ".", "--format", "json", cwd=specs)
    assert found.returncode == 1
    assert len(json.loads(found.stdout)) == 4
    found = sextant("lint", "-", "--format", "json", cwd=specs, stdin=UNSOUND)
    assert found.returncode == 1
    assert isinstance(json.loads(found.stdout), dict)
    found = sextant("lint", "-", "--format", "json", cwd=specs, stdin=json.dumps({"mixer": {"use": "gla"}}))
    assert found.returncode == 0
    found = sextant(
        "lint", "catalogue:linear", "--seq-len", "4", "--dtype", "float16", "--need", "recall", "--format", "json"
    )
    target = json.loads(found.stdout)["target"]
    assert (target["seq_len"], target["dtype"], target["needs"]) == (4, "float16", ["recall"])


REPORT_KEYS = {"schema", "tool_version", "candidate", "target", "verdicts", "findings", "summary"}
FINDING_KEYS = {
    "code",
    "name",
    "principle",
    "severity",
    "path",
    "span",
    "message",
    "evidence",
    "assumptions",
    "sources",
    "fix",
    "suppressed",
}


def test_json_report_has_the_schema_of_the_contract(specs: Path) -> None:
    found = sextant("lint", "unsound.yaml", "--format", "json", cwd=specs)
    report = json.loads(found.stdout)
    assert set(report) >= REPORT_KEYS
    assert report["schema"] == "sextant.report/1"
    assert set(report["candidate"]) == {"name", "fingerprint", "source"}
    assert set(report["summary"]) == {"errors", "warnings", "infos", "passed", "unknown"}
    assert report["findings"]
    for one in report["findings"]:
        assert set(one) >= FINDING_KEYS
        assert one["severity"] in ("error", "warning", "info")
        assert set(one["span"]) == {"file", "line", "column", "end_line", "end_column"}
        assert one["fix"] is None or set(one["fix"]) >= {"applicability", "edits"}
        for quantity in one["evidence"].values():
            assert set(quantity) == {"value", "unit"}
    for one in report["verdicts"]:
        assert set(one) >= {"code", "name", "principle", "verdict", "reason"}
        assert one["verdict"] in ("pass", "fail", "unknown")
        assert one["reason"]
    scale = next(one for one in report["findings"] if one["code"] == "CD501")
    assert scale["span"]["line"] == 4
    assert scale["span"]["file"].endswith("unsound.yaml")
    assert UNSOUND.splitlines()[3][scale["span"]["column"] - 1 :].startswith("base")
    severities = [one["severity"] for one in report["findings"] if not one["suppressed"]]
    assert report["summary"]["errors"] == severities.count("error")
    assert report["summary"]["passed"] == sum(one["verdict"] == "pass" for one in report["verdicts"])
    # the same object from Python, and deterministic
    loaded = load_with_places(specs / "unsound.yaml")
    here = check(loaded.candidate, document=loaded.document).model_dump(mode="json")
    there = json.loads(sextant("lint", str(specs / "unsound.yaml"), "--format", "json").stdout)
    assert here == there
    assert sextant("lint", "unsound.yaml", "--format", "json", cwd=specs).stdout == found.stdout
    several = json.loads(sextant("lint", "unsound.yaml", "clean.yaml", "--format", "json", cwd=specs).stdout)
    assert isinstance(several, list)
    assert len(several) == 2


def test_other_commands_of_the_issue(specs: Path) -> None:
    """rules, rule, catalogue, show, cost, import: exit 0 with data, 2 on an unknown name."""
    for arguments in (
        ["rules"],
        ["rule", "CD101"],
        ["rule", "quadratic-cost"],
        ["rule", "CD101", "--format", "markdown"],
        ["catalogue"],
        ["catalogue", "gla"],
        ["show", "warned.yaml"],
        ["--version"],
        ["import", "config.json", "-o", "out.yaml"],
    ):
        found = sextant(*arguments, cwd=specs)
        assert found.returncode == 0, (arguments, found.stderr)
        assert found.stdout.strip() or arguments[0] == "import"
    json.loads(sextant("rule", "CD101", "--format", "json").stdout)
    written = json.loads(sextant("catalogue", "gla", "--format", "json").stdout)
    assert written
    text = sextant("catalogue", "gla", "--format", "yaml").stdout
    assert fingerprint(loads(text)) == fingerprint(load("catalogue:gla"))
    assert fingerprint(load(specs / "out.yaml")) == fingerprint(load(specs / "config.json"))
    numbers_ = json.loads(sextant("cost", "warned.yaml", "--seq-len", "512", "--format", "json", cwd=specs).stdout)
    assert numbers_["seq_len"] == 512
    for arguments in (
        ["rule", "CD999"],
        ["catalogue", "nothing"],
        ["show", "missing.yaml"],
        ["cost", "missing.yaml"],
        ["import", "missing.json"],
        ["leaderboard", "--store", "none.sqlite"],
        ["search", "status", "x"],
        ["search", "resume", "x"],
        ["search", "run", "missing.yaml", "--study", "s"],
        ["nothing"],
        ["train", "warned.yaml", "--task", "nothing"],
        ["compare", "a", "b"],
    ):
        found = sextant(*arguments, cwd=specs)
        assert found.returncode == 2, (arguments, found.returncode, found.stdout, found.stderr)
        assert "Traceback" not in found.stderr
    assert not (specs / "none.sqlite").exists()


def test_every_command_has_help_with_an_example() -> None:
    for command in (
        "lint",
        "rules",
        "rule",
        "catalogue",
        "show",
        "cost",
        "import",
        "train",
        "leaderboard",
        "compare",
        "demo",
        "search run",
        "search status",
        "search stop",
        "search resume",
        "search list",
    ):
        found = sextant(*command.split(), "--help")
        assert found.returncode == 0
        assert "xample" in found.stdout, command


@pytest.mark.parametrize("command", ["show", "cost", "rules", "rule CD101", "catalogue"])
def test_commands_that_print_data_can_print_json(command: str, specs: Path) -> None:
    name, *rest = command.split()
    arguments = rest or (["warned.yaml"] if name in ("show", "cost") else [])
    found = sextant(name, *arguments, "--format", "json", cwd=specs)
    assert found.returncode == 0, found.stderr
    json.loads(found.stdout)
