"""Hostile files and poor terminals: the command line answers soon, in plain text, and never with an internal error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

BLOCK = "- mixer: {readout: {kind: exponential}, normalization: {kind: sum}, scaling: {base: 1}}\n"


def test_escape_sequences_are_shown(sextant: Run, folder: Path) -> None:
    (folder / "bad.yaml").write_text('"\\e[2Jkey": 1\nmixer: {}\n')
    for name in ("bad.yaml", "ends\n::error::\x1b[2J.yaml"):
        message = sextant("lint", name).err
        assert message.startswith("error: ")
        assert (message.count("\n"), "\x1b" in message) == (1, False)
    assert "ends\\n::error::\\x1b[2J.yaml" in message


def test_stale_entries_are_shown_escaped(sextant: Run, folder: Path) -> None:
    (folder / "my.yaml").write_text(f"blocks:\n{BLOCK}")
    sextant("lint", "my.yaml", "--baseline", "write", "known.json")
    content = json.loads((folder / "known.json").read_text())
    content["findings"][0] |= {"source": "\x1b[2J\ud800", "name": "\x1b]0;x\x07"}
    (folder / "known.json").write_text(json.dumps(content))
    used = sextant("lint", "my.yaml", "--baseline", "use", "known.json")
    assert "stale: \\x1b[2J\\ud800: " in used.err
    assert "\x1b" not in used.err


@pytest.mark.parametrize(("list_of", "items"), [("blocks", "20,001"), ("parallel", "20,002")])
def test_aliases_of_a_tall_stack_are_refused_before_it_is_made(
    list_of: str, items: str, sextant: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("designspace.specfile.validate", lambda *_: pytest.fail("the stack was made"))
    text = "blocks:\n- &b {mixer: {}}\n" + "- *b\n" * 20_000
    if list_of == "parallel":
        text = "blocks:\n- mixer:\n    parallel:\n    - &m {}\n" + "    - *m\n" * 20_001
    (folder / "tall.yaml").write_text(text)
    refused = sextant("lint", "tall.yaml")
    assert refused.code == 2
    assert f"`{list_of}` has {items} items, more than 1024" in refused.err


def test_a_mixer_too_wide_to_build_is_not_measured(sextant: Run, folder: Path) -> None:
    (folder / "wide.yaml").write_text(
        "model: {model_dim: 65536}\nmixer: {heads: {num_heads: 4, state_dim: 65536, head_dim: 8}}\n"
    )
    told = sextant("probe", "wide.yaml", "--only", "score_scale", "--seeds", "2", "--format", "json")
    assert json.loads(told.out)["measurements"] == []
    assert "blocks[0].mixer: not measured: 4 heads with keys of 65,536 channels" in told.err


def test_fixes_are_told_after_they_are_written(sextant: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"blocks:\n{BLOCK}".replace("scaling", "execution: {stabiliser: none}, scaling")
    (folder / "mine.yaml").write_text(text)
    monkeypatch.setattr("search.commands.fix.WRITABLE", 0)
    refused = sextant("lint", "mine.yaml", "--fix")
    assert "read-only" in refused.err
    assert "fixed" not in refused.err.partition("error:")[0]
    assert (folder / "mine.yaml").read_text() == text


def test_no_selector_is_refused(sextant: Run) -> None:
    for selectors in ("", " , "):
        refused = sextant("lint", "catalogue:mamba", "--select", selectors)
        assert (refused.code, refused.out) == (2, "")
        assert "--select names no rule" in refused.err


@pytest.mark.parametrize("output_format", ["text", "markdown", "json"])
def test_faults_are_explained(output_format: str, sextant: Run) -> None:
    told = sextant("explain", "probe-later-tokens", "--format", output_format)
    assert told.code == 0
    assert "probe-later-tokens" in told.out
    assert "leaks the future" in told.out
    assert "did you mean `probe-later-tokens`?" in sextant("explain", "probe-later-token").err


def test_a_terminal_without_a_sign_gets_another() -> None:
    script = "from search import cli; cli.app = lambda: cli.results.screen.console().print('8 \\u00b1 1'); cli.main()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "8 ? 1\n", "")
