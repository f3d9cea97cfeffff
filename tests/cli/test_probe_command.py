"""`sextant probe` and `sextant lint --probe`."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

UNSCALED = """\
target: {seq_len: 64}
model: {model_dim: 32}
mixer:
  readout: {kind: exponential}
  normalization: {kind: sum}
  rotation: {source: constant}
  scaling: {base: 1.0}
  heads: {num_heads: 2, state_dim: 64, head_dim: 8}
"""


@pytest.fixture
def spec(folder: Path) -> str:
    (folder / "unscaled.yaml").write_text(UNSCALED)
    return "unscaled.yaml"


def test_probe_prints_numbers_with_their_uncertainty(sextant: Run, spec: str) -> None:
    outcome = sextant("probe", spec, "--only", "score_scale", "--seeds", "3")
    assert outcome.code == 0
    assert "score_std" in outcome.out
    assert "±" in outcome.out


def test_probe_writes_json(sextant: Run, spec: str) -> None:
    outcome = sextant("probe", spec, "--only", "score_scale,causality", "--seeds", "3", "--format", "json")
    found = json.loads(outcome.out)
    assert found["schema"] == "sextant.measurements/1"
    assert found["faults"] == []
    score = next(one for one in found["measurements"] if one["quantity"] == "score_std")
    assert score["value"] == pytest.approx(8.0, rel=0.1)
    assert score["uncertainty"] > 0
    assert (score["draws"], score["length"], score["path"]) == (3, 64, "blocks[0].mixer")


def test_probe_prints_equal_mixers_once_and_the_ends_of_those_that_differ_in_numbers(
    sextant: Run, folder: Path
) -> None:
    block = "- mixer: {{decay: {{granularity: scalar, initial: [0.5, {}]}}, heads: {{num_heads: 2, state_dim: 4}}}}\n"
    decays = (0.9, 0.9, 0.95, 0.99)
    (folder / "deep.yaml").write_text("blocks:\n" + "".join(block.format(decay) for decay in decays))
    lines = sextant("probe", "deep.yaml", "--only", "horizon,causality", "--seeds", "2").out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "blocks[0..1].mixer",
        "blocks[3].mixer",
        "model",
        "left out: 1 mixer of the same kind, with numbers in between; --format json has all",
        lines[-1],
    ]
    assert lines[-1].startswith("no fault in ")


def test_unknown_probe_is_bad_input(sextant: Run, spec: str) -> None:
    outcome = sextant("probe", spec, "--only", "score_scal")
    assert outcome.code == 2
    assert "did you mean `score_scale`?" in outcome.err


def test_lint_with_probes_confirms_the_finding(sextant: Run, spec: str) -> None:
    outcome = sextant("lint", spec, "--probe", "--seeds", "2", "--format", "json")
    assert outcome.code == 1
    report = json.loads(outcome.out)
    found = {finding["code"]: finding["probe"] for finding in report["findings"]}
    assert found["CD501"]["verdict"] == "confirmed"
    assert found["CD501"]["value"] == pytest.approx(8.0, rel=0.1)
    assert found["CD501"]["uncertainty"] > 0
    assert found["CD101"]["verdict"] == "not measured"
    assert report["faults"] == []


def test_lint_with_probes_says_so_in_text(sextant: Run, spec: str) -> None:
    outcome = sextant("lint", spec, "--probe", "--seeds", "2")
    assert "probe: confirmed, score_std = " in outcome.out
    assert "probe: not measured" in outcome.out


def test_lint_without_probes_has_none(sextant: Run, spec: str) -> None:
    report = json.loads(sextant("lint", spec, "--format", "json").out)
    assert {finding["probe"] for finding in report["findings"]} == {None}
