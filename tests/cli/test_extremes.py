"""Extreme but valid input stays short, and what cannot work is said in one line without `internal error`."""

import json
from pathlib import Path

import pytest

from search.commands.show import SHOWN
from tests.cli.conftest import Run


def test_show_counts_what_would_fill_thousands_of_lines(sextant: Run, folder: Path) -> None:
    blocks = [{"mixer": {"use": "linear", "scaling": {"base": 1 + index / 1000}}} for index in range(SHOWN + 6)]
    (folder / "many.json").write_text(json.dumps({"blocks": blocks}))
    outcome = sextant("show", "many.json")
    assert outcome.code == 0
    assert "and 6 more distinct mixers" in outcome.out
    assert "and 6 more blocks" in outcome.out


def test_a_model_beyond_the_memory_of_the_machine_is_refused(sextant: Run, folder: Path) -> None:
    (folder / "huge.yaml").write_text("mixer: {use: performer, features: {width: 16000000}}\n")
    outcome = sextant("train", "huge.yaml", "--task", "parity", "--steps", "1")
    assert (outcome.code, "internal" in outcome.err) == (2, False)
    assert "needs more memory" in outcome.err


@pytest.mark.parametrize("steps", ["0", "-1", "20001", "1000000000000"])
def test_steps_that_no_run_takes_are_refused(sextant: Run, steps: str) -> None:
    assert sextant("train", "my.yaml", "--task", "parity", "--steps", steps).code == 2


@pytest.mark.parametrize(
    "arguments",
    [("search", "list"), ("leaderboard",), ("search", "resume", "s"), ("search", "run", "space.yaml", "--study", "s")],
)
def test_a_store_that_is_no_database_is_named(sextant: Run, folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "garbage.db").write_bytes(b"garbage " * 1000)
    outcome = sextant(*arguments, "--store", "garbage.db")
    assert (outcome.code, "internal" in outcome.err) == (2, False)
    assert "garbage.db" in outcome.err
    assert "not a database" in outcome.err
