"""Every example found in a --help text and in the README works as written."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search.cli import app
from tests.cli.conftest import Run

README = Path(__file__).parents[2] / "README.md"
LONG = ("demo", "search run", "search resume")  # commands that start Ray


def commands(group: Any, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """(words of the command, its documentation) of every command, groups included."""
    for info in group.registered_commands:
        yield (*prefix, info.name or info.callback.__name__), info.callback.__doc__ or ""
    for info in group.registered_groups:
        yield from commands(info.typer_instance, (*prefix, info.name))


def examples() -> Iterator[Any]:
    """Example lines of all commands, those that start Ray marked as slow."""
    for words, documentation in commands(app):
        for line in re.findall(r"Example: (sextant .+)", documentation):
            slow = " ".join(words) in LONG
            yield pytest.param(line, marks=pytest.mark.slow if slow else (), id=line.removeprefix("sextant "))


@pytest.mark.parametrize("words", [words for words, _ in commands(app)], ids=" ".join)
def test_help_has_an_example(words: tuple[str, ...], sextant: Run) -> None:
    outcome = sextant(*words, "--help")
    assert outcome.code == 0
    assert f"Example: sextant {' '.join(words)}" in outcome.out


@pytest.mark.parametrize("line", list(examples()))
def test_example_works_as_written(line: str, sextant: Run, request: pytest.FixtureRequest) -> None:
    if "search resume" in line:
        assert sextant("search", "run", "space.yaml", "--study", "first", "--budget", "1").code == 0
    elif "search run" not in line:
        request.getfixturevalue("results")
    outcome = sextant(*shlex.split(line)[1:])
    assert outcome.code in ((0, 1) if " lint " in line else (0,)), outcome.err
    assert "error:" not in outcome.err


def test_commands_of_the_readme_work_in_their_order(sextant: Run) -> None:
    lines = re.findall(r"^    sextant (.+)$", README.read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        outcome = sextant(*shlex.split(line))
        assert outcome.code in ((0, 1) if line.startswith("lint") else (0,)), (line, outcome.err)


def test_python_example_of_the_readme_works(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "CD" in capsys.readouterr().out
