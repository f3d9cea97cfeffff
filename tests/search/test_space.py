"""Space files: holes at any depth, conditional holes, names that stay, and errors that say where."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from fabricate import SPACE, space

from checkers.settings import Settings
from checkers.settings_file import resolver
from designspace.document import Document
from designspace.errors import SpecError
from designspace.specfile import Loaded, load_document
from search.holes import Range
from search.space import from_record, load_space


class Picking:
    """Fills holes from a dictionary, others with their first option or lower bound, and notes their names."""

    def __init__(self, wanted: dict[str, Any] | None = None) -> None:
        self.wanted = wanted or {}
        self.names: list[str] = []

    def label(self, name: str, labels: tuple[str, ...]) -> str:
        self.names.append(name)
        return str(self.wanted.get(name, labels[0]))

    def number(self, name: str, bounds: Range) -> float:
        self.names.append(name)
        value = self.wanted.get(name, bounds.low)
        return int(value) if bounds.integer else float(value)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "space.yaml"
    path.write_text(text)
    return path


def test_holes_are_filled_as_chosen() -> None:
    picking = Picking({"blocks[0].mixer.readout": "relu", "blocks[0].mixer.io.short_conv.width": 20})
    mixer = space().candidate(picking).blocks[0].mixers[0]
    assert (mixer.readout.kind, mixer.io.short_conv.width, mixer.normalization.kind) == ("relu", 20, "sum")
    assert picking.names == [
        "blocks[0].mixer.readout",
        "blocks[0].mixer.normalization.kind",
        "blocks[0].mixer.scaling.base",
        "blocks[0].mixer.io.short_conv.width",
    ]


def test_a_nested_hole_exists_only_where_its_item_is_taken() -> None:
    nested = """
tasks: [parity]
mixer:
  decay:
    choice:
      - {granularity: none}
      - {granularity: scalar, source: input, map: exp_softplus, initial: [{range: [0.5, 0.9]}, 0.99]}
"""
    found = space(nested)
    without, with_decay = Picking(), Picking({"mixer.decay": "scalar"})
    found.candidate(without)
    decay = found.candidate(with_decay).blocks[0].mixers[0].decay
    assert without.names == ["mixer.decay"]
    assert with_decay.names == ["mixer.decay", "mixer.decay<scalar>.initial[0]"]
    assert decay.initial == (0.5, 0.99)


def test_the_range_of_a_decay_is_a_field_not_a_hole() -> None:
    found = space("tasks: [parity]\nmixer: {decay: {granularity: scalar, source: input, range: [0.0, 0.5]}}")
    picking = Picking()
    assert found.candidate(picking).blocks[0].mixers[0].decay.range == (0.0, 0.5)
    assert picking.names == []


def test_catalogue_entries_may_be_items_with_overrides() -> None:
    found = space("tasks: [parity]\nmixer: {choice: [{use: softmax_nope}, {use: linear, readout: {kind: relu}}]}")
    mixer = found.candidate(Picking({"mixer": "linear"})).blocks[0].mixers[0]
    assert mixer.readout.kind == "relu"


def test_defaults_and_the_plan() -> None:
    found = space()
    assert found.settings.objectives == ("accuracy",)
    assert (found.settings.sampler.name, found.settings.protocol, found.settings.reject) == ("tpe", "tiny", ("error",))
    assert found.settings.plan.seeds == (0, 1)
    assert space(seeds=[3, 5]).settings.plan.seeds == (3, 5)


def test_a_stored_space_reads_back_the_same() -> None:
    found = space()
    again = from_record(found.record())
    assert again.name == "demo"
    assert again.settings == found.settings
    assert again.candidate(Picking()) == found.candidate(Picking())


def test_yaml_and_json_are_the_same_space(tmp_path: Path) -> None:
    loaded = load_space(write(tmp_path, SPACE))
    assert loaded.record() == space().record()


def test_the_settings_of_the_checker_are_those_of_the_nearest_file_and_are_kept(tmp_path: Path) -> None:
    (tmp_path / "sextant.toml").write_text('ignore = ["CD1"]\n[thresholds.short-horizon]\nvanishing = 3\n')
    found = load_space(write(tmp_path, SPACE))
    assert found.settings.checker.ignore == ("CD1",)
    record = found.record()
    assert record["checker"] == {"ignore": ["CD1"], "thresholds": {"short-horizon": {"vanishing": 3.0}}}
    assert from_record(record).settings == found.settings
    assert load_space(write(tmp_path, SPACE), settings_of=resolver(isolated=True)).settings.checker == Settings()


def test_settings_of_the_checker_in_the_space_stand_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "sextant.toml").write_text('ignore = ["CD1"]\n')
    text = f"{SPACE}\nchecker: {{extend-select: [CD5], severity: {{CD2: info}}}}\n"
    checker = load_space(write(tmp_path, text)).settings.checker
    assert (checker.ignore, checker.extend_select, checker.severity) == ((), ("CD5",), {"CD2": "info"})


def test_a_study_is_resumed_with_the_settings_it_began_with(tmp_path: Path) -> None:
    (tmp_path / "sextant.toml").write_text('ignore = ["CD1"]\n')
    record = load_space(write(tmp_path, SPACE)).record()
    (tmp_path / "sextant.toml").write_text('ignore = ["CD2"]\n')
    assert from_record(record).settings.checker.ignore == ("CD1",)
    assert from_record({key: one for key, one in record.items() if key != "checker"}).settings.checker == Settings()


GOOD = """tasks: [parity]
name: demo
mixer:
  scaling: {base: 1}
  heads: {num_heads: 4, state_dim: 8}
seeds: 2
"""
BAD = [
    ("tasks: [parity]", "tasks: [paritty]", "did you mean `parity`", 1),
    ("base: 1", "base: {choice: []}", "at least one item", 4),
    ("base: 1", "base: {choice: [1, 1]}", "`1` twice", 4),
    ("base: 1", "base: {choice: [1, 2], log: true}", "stands alone", 4),
    ("base: 1", "base: {choice: [1, wrong]}", "wrong", 4),
    ("state_dim: 8", "state_dim: {range: [32, 8]}", "must rise", 5),
    ("state_dim: 8", "state_dim: {range: [0, 8], log: true}", "above 0", 5),
    ("state_dim: 8", "state_dim: {range: [1.5, 8], int: true}", "whole bounds", 5),
    ("state_dim: 8", "state_dim: {range: 8}", "two numbers", 5),
    ("state_dim: 8", "state_dim: {range: [4, 8], int: 1}", "true or false", 5),
    ("state_dim: 8", "state_dim: {range: [4, 8], int: true}", "protocol `tiny` sets `state_dim` itself", 5),
    ("seeds: 2", "seeds: 0", "seeds", 6),
    ("seeds: 2", "seedss: 2", "did you mean `seeds`", 6),
    ("seeds: 2", "objectives: [speed]", "accuracy", 6),
    ("seeds: 2", "sampler: {name: tpee}", "did you mean `tpe`", 6),
    ("seeds: 2", "start: [softmax_nop]", "did you mean `softmax_nope`", 6),
    ("seeds: 2", "budget: {trials: -1}", "trials", 6),
    ("seeds: 2", "protocol: huge", "choose from mad, tiny", 6),
    ("seeds: 2", "reject: [CD999]", "CD999", 6),
    ("seeds: 2", "checker: {ignor: [CD1]}", "did you mean `ignore`", 6),
    ("seeds: 2", "checker:\n  ignore: [CD999]", "`CD999` names no rule", 7),
    ("seeds: 2", "checker:\n  thresholds:\n    score-scale:\n      band: [2, 1]", "0 < low < high, got [2, 1]", 9),
    ("seeds: 2", "checker: {fail-on: never}", "unknown key `fail-on`", 6),
    ("tasks: [parity]", "tasks: [parity, parity]", "`parity` twice", 1),
    ("seeds: 2", "seeds: [3, 3]", "`3` twice", 6),
    ("seeds: 2", "seeds: [-1]", "greater than or equal to 0", 6),
    ("seeds: 2", "seeds: 1000000000", "1000", 6),
    ("seeds: 2", "seeds: [9999999999999999999]", "2147483647", 6),
    ("seeds: 2", "objectives: [accuracy, accuracy]", "`accuracy` twice", 6),
    ("seeds: 2", "budget: {trials: 9999999999999999999999}", "trials", 6),
    ("seeds: 2", "steps: 1000000000000", "20000", 6),
    ("base: 1", f"base: {{choice: [{', '.join(map(str, range(1, 1002)))}]}}", "at most 1000", 4),
    ("name: demo", "name: 3", "`name` must be a string", 2),
]


@pytest.mark.parametrize(("old", "new", "words", "line"), BAD)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, words: str, line: int) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SpecError) as caught:
        load_space(path)
    assert words in caught.value.message
    assert (caught.value.line, str(caught.value).startswith(f"{caught.value.file}:{line}:")) == (line, True)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry per candidate that the first look at a space builds."""
    files: list[str] = []

    def building(document: Document) -> Loaded:
        files.append(document.file)
        return load_document(document)

    monkeypatch.setattr("search.space.load_document", building)
    return files


def test_a_mistake_outside_of_every_hole_is_built_once(built: list[str]) -> None:
    with pytest.raises(SpecError, match="decay"):
        space("{tasks: [parity], mixer: {decay: wrong, scaling: {base: {choice: [1]}}}}")
    assert len(built) == 1


def test_the_first_look_at_a_huge_space_is_bounded(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    space(SPACE)
    assert len(built) > 5
    built.clear()
    monkeypatch.setattr("search.space.MAX_LOOKED_AT", 100)
    space(SPACE)
    assert 1 <= len(built) <= 5


def test_options_that_only_do_not_go_together_are_left_to_the_search() -> None:
    text = """
tasks: [parity]
model: {model_dim: 64}
mixer: {support: {window: {choice: [null, 8]}, chunk: {choice: [null, 8]}}}
"""
    found = space(text)
    with pytest.raises(SpecError):
        found.candidate(Picking({"mixer.support.window": "8", "mixer.support.chunk": "8"}))


def test_the_example_of_the_documentation_loads(tmp_path: Path) -> None:
    import search.space as module

    text = str(module.__doc__).split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(text)["name"] == "demo"
    assert load_space(write(tmp_path, text)).settings.budget.trials == 12
