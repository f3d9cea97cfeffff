"""`sextant lint --fix` and `--diff`: what is written, what is shown, and that no file is ever lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

SPEC = """\
# a spec
mixer:
  readout: {kind: exponential}   # softmax
  normalization: {kind: sum}
  scaling: {base: 1.0}
  rotation: {source: constant}
  execution: {stabiliser: none}  # fast
"""
SAFE = SPEC.replace("stabiliser: none", "stabiliser: row_max")
UNSAFE = SAFE.replace("base: 1.0", "base: n^-1/2")


@pytest.fixture
def spec(folder: Path) -> Path:
    """A file with a safe and an unsafe fix."""
    path = folder / "spec.yaml"
    path.write_text(SPEC)
    return path


def test_fix_writes_safe_fixes_and_reports_what_is_left(sextant: Run, spec: Path):
    outcome = sextant("lint", "spec.yaml", "--fix", "--format", "json")
    assert spec.read_text() == SAFE
    codes = {finding["code"] for finding in json.loads(outcome.out)["findings"]}
    assert "CD501" in codes
    assert "CD604" not in codes
    assert outcome.code == 1  # CD501 is an error
    assert "spec.yaml: fixed 1 finding (CD604 stabiliser-missing)" in outcome.err
    assert "spec.yaml: 1 finding more with --unsafe-fixes" in outcome.err


def test_unsafe_fixes_are_added_on_request(sextant: Run, spec: Path):
    outcome = sextant("lint", "spec.yaml", "--fix", "--unsafe-fixes")
    assert spec.read_text() == UNSAFE
    assert outcome.code == 0
    assert sextant("lint", "spec.yaml", "--fix", "--unsafe-fixes").err == ""


@pytest.mark.parametrize("options", [["--diff"], ["--fix", "--diff"]])
def test_diff_shows_the_change_and_writes_nothing(sextant: Run, spec: Path, options: list[str], tmp_path: Path):
    outcome = sextant("lint", "spec.yaml", *options)
    assert spec.read_text() == SPEC
    assert outcome.code == 1  # the file still has its errors
    assert "would fix 1 finding" in outcome.err
    copy = tmp_path / "copy.yaml"
    copy.write_text(SPEC)
    subprocess.run(["patch", str(copy)], input=outcome.out, text=True, check=True, capture_output=True)
    assert copy.read_text() == SAFE


def test_diff_of_nothing_is_empty(sextant: Run, spec: Path):
    spec.write_text(UNSAFE)
    outcome = sextant("lint", "spec.yaml", "--diff")
    assert (outcome.code, outcome.out) == (0, "")


def test_diff_marks_a_last_line_without_a_break(sextant: Run, spec: Path):
    spec.write_text(SPEC.rstrip())
    assert sextant("lint", "spec.yaml", "--diff").out.endswith("# fast\n\\ No newline at end of file\n")


def test_only_selected_rules_are_fixed(sextant: Run, spec: Path):
    sextant("lint", "spec.yaml", "--fix", "--unsafe-fixes", "--ignore", "CD6")
    assert spec.read_text() == SPEC.replace("base: 1.0", "base: n^-1/2")


def test_fix_keeps_a_byte_order_mark_line_breaks_and_permissions(sextant: Run, spec: Path):
    spec.write_bytes(("\ufeff" + SPEC.replace("\n", "\r\n")).encode())
    spec.chmod(0o640)
    sextant("lint", "spec.yaml", "--fix")
    assert spec.read_bytes() == ("\ufeff" + SAFE.replace("\n", "\r\n")).encode()
    assert spec.stat().st_mode & 0o777 == 0o640


def test_a_read_only_file_is_left_alone(sextant: Run, spec: Path, folder: Path):
    spec.chmod(0o444)
    before = sorted(folder.iterdir())
    outcome = sextant("lint", "spec.yaml", "--fix")
    assert outcome.code == 2
    assert "error: spec.yaml: the file is read-only; make it writable, or use --diff." in outcome.err
    assert (spec.read_text(), sorted(folder.iterdir())) == (SPEC, before)
    assert sextant("lint", "spec.yaml", "--diff").out != ""


def test_fix_keeps_a_link_a_link(sextant: Run, spec: Path, folder: Path):
    (folder / "inner").mkdir()
    target = folder / "inner" / "real.yaml"
    spec.rename(target)
    spec.symlink_to(target)
    sextant("lint", "spec.yaml", "--fix")
    assert spec.is_symlink()
    assert target.read_text() == SAFE


def test_every_file_of_a_folder_is_fixed(sextant: Run, folder: Path):
    (folder / "many").mkdir()
    for name in ("a.yaml", "b.yaml"):
        (folder / "many" / name).write_text(SPEC)
    sextant("lint", "many", "--fix")
    assert [path.read_text() for path in sorted((folder / "many").iterdir())] == [SAFE, SAFE]


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("catalogue:softmax_unscaled", "sextant new --from catalogue:softmax_unscaled"),
        ("gla.json", "sextant import gla.json"),
    ],
)
def test_what_is_no_spec_file_is_not_edited(sextant: Run, folder: Path, source: str, remedy: str):
    config = folder / "gla.json"
    shutil.copy(Path(__file__).parents[1] / "configs" / "fla-gla-340m.json", config)
    before = config.read_text()
    outcome = sextant("lint", source, "--fix", "--unsafe-fixes", "--fail-on", "never")
    assert f"{source}: not fixed:" in outcome.err
    assert remedy in outcome.err
    assert config.read_text() == before


def test_standard_input_is_not_edited(sextant: Run, folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "input").write_text(SPEC)
    with (folder / "input").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        outcome = sextant("lint", "-", "--fix", "--fail-on", "never")
    assert "standard input is not edited; give the name of a file." in outcome.err


def test_unsafe_fixes_alone_are_a_mistake(sextant: Run, spec: Path):
    outcome = sextant("lint", "spec.yaml", "--unsafe-fixes")
    assert outcome.code == 2
    assert "give --fix or --diff too" in outcome.err
    assert spec.read_text() == SPEC


@pytest.mark.parametrize("option", [["--seq-len", "64"], ["--dtype", "float16"], ["--need", "recall"]])
def test_a_file_is_fixed_for_its_own_target_only(sextant: Run, spec: Path, option: list[str]):
    outcome = sextant("lint", "spec.yaml", "--fix", *option)
    assert outcome.code == 2
    assert "fixed for its own target" in outcome.err
    assert spec.read_text() == SPEC


def test_contradicting_fixes_stop_the_file_only(
    sextant: Run, spec: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    from checkers import fixes

    (folder / "other.yaml").write_text(SPEC)
    real = fixes.fixed

    def contradicting(text: str, file: str, judge: fixes.Judge, *, unsafe: bool = False) -> fixes.Fixed:
        if file == "spec.yaml":
            raise fixes.FixConflictError("the fixes contradict each other.", file=file, line=5)
        return real(text, file, judge, unsafe=unsafe)

    monkeypatch.setattr(fixes, "fixed", contradicting)
    outcome = sextant("lint", "spec.yaml", "other.yaml", "--fix")
    assert outcome.code == 2
    assert "error: spec.yaml:5: the fixes contradict each other." in outcome.err
    assert spec.read_text() == SPEC
    assert (folder / "other.yaml").read_text() == SAFE


def test_a_file_that_changed_meanwhile_is_left_alone(sextant: Run, spec: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "fsync", lambda _: spec.write_text("mixer: {}\n"))
    outcome = sextant("lint", "spec.yaml", "--fix")
    assert outcome.code == 2
    assert "changed while it was checked" in outcome.err
    assert spec.read_text() == "mixer: {}\n"


def test_a_failed_write_leaves_the_file_and_no_other(
    sextant: Run, spec: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(folder.iterdir())
    monkeypatch.setattr(os, "fsync", full)
    outcome = sextant("lint", "spec.yaml", "--fix")
    assert outcome.code == 2
    assert "No space left on device" in outcome.err
    assert spec.read_text() == SPEC
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_a_killed_fix_leaves_a_whole_file(spec: Path, moment: str):
    module, name = moment.split(".", maxsplit=1)
    code = (
        f"import os, {module}, signal\n"
        f"{module}.{name} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from search.cli import main\nmain()"
    )
    ended = subprocess.run([sys.executable, "-c", code, "lint", "spec.yaml", "--fix"], cwd=spec.parent, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert spec.read_text() == SPEC
