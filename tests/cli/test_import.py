"""`sextant import`: what it writes, and how it accounts for the keys of a config.json."""

import json
from pathlib import Path

import pytest

from designspace.specfile import load
from tests.cli.conftest import Run

CONFIGS = Path(__file__).parents[1] / "configs"


def test_text_accounts_for_every_key_under_what_became_of_it(sextant: Run, folder: Path) -> None:
    data = {"model_type": "hgrn", "hidden_size": 1024, "favourite_colour": "blue", "use_cache": True}
    (folder / "config.json").write_text(json.dumps(data))
    outcome = sextant("import", "config.json", "-o", "spec.yaml")
    cells = [line.split(None, 2) for line in outcome.out.splitlines()]
    groups = [line[0] for line in cells if line and line[0] in outcome.out and line[0] in WORDS]
    assert (outcome.code, groups) == (0, [*WORDS])
    assert "fla-core 0.6.0" in outcome.out
    assert outcome.out.splitlines()[-1] == "hgrn: ok, every layer is a point of the grammar."
    assert load(folder / "spec.yaml").num_layers == 24


WORDS = ("read", "defaulted", "derived", "approximated", "ignored", "UNKNOWN")


def test_the_account_goes_to_standard_error_where_the_spec_is_printed(sextant: Run, folder: Path) -> None:
    outcome = sextant("import", "config.json")
    (folder / "spec.yaml").write_text(outcome.out)
    assert load(folder / "spec.yaml").blocks == load(folder / "config.json").blocks
    assert "sliding_window" in outcome.err


@pytest.mark.parametrize(
    ("file", "verdict"),
    [
        ("deepseek-v3.2.json", "unsupported"),
        ("bert-arctic-embed-m.json", "not_applicable"),
        ("llama-2-7b.json", "ok"),
    ],
)
def test_the_verdict_stands_in_both_formats(sextant: Run, file: str, verdict: str) -> None:
    text = sextant("import", str(CONFIGS / file), "-o", "spec.yaml").out
    data = json.loads(sextant("import", str(CONFIGS / file), "--format", "json").out)
    assert f": {verdict}, " in text
    assert data["verdict"] == verdict
    assert {"read", "defaulted", "derived", "ignored", "approximated", "unknown", "spec"} <= data.keys()


def test_a_long_list_is_shown_by_its_runs(sextant: Run) -> None:
    text = sextant("import", str(CONFIGS / "minimax-text-01.json"), "-o", "spec.yaml").out
    assert "[7 x linear_attention, full_attention, 7 x linear_attention" in text
    assert "(80 items)" in text
