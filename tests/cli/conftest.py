"""Runs the command line in this process, in a folder of its own."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from search import cli

CONFIGS = Path(__file__).parents[1] / "configs"


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the command, with the files that examples name."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CONFIGS / "mistral-7b-v0.1.json", tmp_path / "config.json")
    (tmp_path / "my.yaml").write_text("mixer: {use: gated_deltanet}\n")
    return tmp_path


@pytest.fixture
def sextant(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`sextant(*arguments)` runs the command and says how it ended."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr("sys.argv", ["sextant", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        captured = capfd.readouterr()
        return Outcome(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return run
