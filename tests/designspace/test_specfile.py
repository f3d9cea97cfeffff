"""Reading specs: places, bounds, the number forms of YAML 1.2, JSON, and the way back to text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designspace.document import MAX_NODES, parse, read
from designspace.errors import SpecError
from designspace.events import Span, join_path, split_path
from designspace.specfile import dump, load, loads, merged, to_yaml

SPEC = """\
sextant: 1
blocks:
  - repeat: 4
    mixer:
      readout: {kind: exponential, softcap: 30}
      heads:
        num_heads: 8
"""


@pytest.mark.parametrize(
    ("path", "line", "column", "end"),
    [
        ("sextant", 1, 1, 11),
        ("blocks[0].mixer.readout.kind", 5, 17, 34),
        ("blocks[0].mixer.readout", 5, 7, 14),
        ("blocks[0].mixer.heads.num_heads", 7, 9, 21),
        ("blocks[0].mixer.heads.state_dim", 6, 7, 12),  # missing: its parent
        ("blocks[0].mixer.decay.map", 4, 5, 10),
        ("blocks[3]", 2, 1, 7),
        ("nothing", 1, 1, 2),
    ],
)
def test_span_is_the_key_or_its_nearest_parent(path: str, line: int, column: int, end: int) -> None:
    assert parse(SPEC, "a.yaml").span(path) == Span("a.yaml", line, column, line, end)


def test_json_and_yaml_give_the_same_data_and_their_own_places() -> None:
    data = parse(SPEC, "a.yaml").data
    document = parse(json.dumps(data, indent="\t"), "a.json")
    assert document.data == data
    assert document.span("blocks[0].mixer.heads.num_heads").line == 12


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@given(JSON_VALUES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_json_text_is_read_as_python_reads_it(value: object, indent: str | int | None, ascii_only: bool) -> None:
    text = json.dumps({"value": value}, indent=indent, ensure_ascii=ascii_only)
    assert parse(text, "a.json").data == json.loads(text)


@given(st.dictionaries(st.text("abc", min_size=1), st.text(st.characters(exclude_categories=["Cs", "Cc"])), max_size=4))
def test_text_survives_yaml(data: dict[str, str]) -> None:
    assert parse(to_yaml({"x": data}), "a.yaml").data == {"x": data}


@pytest.mark.parametrize("text", ["1", "1.0", "1e0", "1.", "10e-1", "+1", "0x1", "0o1", "1E+0"])
def test_number_forms_of_yaml_are_numbers(text: str) -> None:
    assert parse(f"a: {text}", "a.yaml").data == {"a": 1}


@pytest.mark.parametrize(
    "text", ["yes", "on", "off", "1_000", "1:30", "2001-01-01", "n^-1/2", "'1'", '"null"', ".", "-"]
)
def test_what_yaml_1_2_calls_text_is_text(text: str) -> None:
    source = f"a: {text}" if text != "-" else 'a: "-"'
    assert parse(source, "a.yaml").data == {"a": text.strip("'\"")}


@pytest.mark.parametrize("number", ["2048", "2048.0", "2.048e3"])
def test_a_size_may_be_written_as_any_number(number: str) -> None:
    assert loads(f"mixer: {{}}\ntarget: {{seq_len: {number}}}").target.seq_len == 2048


def test_nodes_are_counted_before_aliases_are_expanded() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 60)]
    with pytest.raises(SpecError, match=rf"^bomb.yaml:5: more than {MAX_NODES} values"):
        parse("\n".join(lines), "bomb.yaml")


def test_aliases_within_the_bound_are_copies() -> None:
    data = parse("a: &x {b: [1]}\nc: *x", "a.yaml").data
    data["a"]["b"].append(2)
    assert data["c"] == {"b": [1]}


def test_special_numbers_are_for_config_files_only() -> None:
    text = '{"time_step_limit": [0.0, Infinity], "z": -Infinity}'
    assert parse(text, "config.json", special_numbers=True).data["time_step_limit"] == [0.0, float("inf")]
    with pytest.raises(SpecError, match=r"config\.json:1: `Infinity` is not a finite number"):
        parse(text, "config.json")


@pytest.mark.parametrize("path", ["", "a", "blocks[0].mixer.parallel[1].heads", "a[0][1].b"])
def test_paths_split_and_join(path: str) -> None:
    assert join_path(split_path(path)) == path


def test_a_file_with_a_mixer_is_one_layer_and_keeps_its_places() -> None:
    with pytest.raises(SpecError) as caught:
        loads("name: x\nmixer:\n  heads:\n    num_heads: 0\n", "a.yaml")
    assert (caught.value.line, caught.value.path) == (4, "blocks[0].mixer.heads.num_heads")
    assert loads("mixer: {heads: {num_heads: 2}}", "a.yaml").num_layers == 1


def test_the_first_mistake_is_reported_and_the_others_counted() -> None:
    with pytest.raises(SpecError) as caught:
        loads("mixer:\n  decy: {}\n  heads: {num_heads: x}\ntarget: {seq_len: 0}\n", "a.yaml")
    assert str(caught.value) == "a.yaml:2: unknown key `decy`; did you mean `decay`? (2 more errors below.)"


def test_use_takes_the_catalogue_entry_and_merges_the_overrides() -> None:
    mixer = loads("mixer: {use: gated_deltanet, heads: {num_heads: 2, state_dim: 16}}").blocks[0].mixer
    original = load("catalogue:gated_deltanet").blocks[0].mixer
    assert mixer.heads.num_heads == 2
    assert (mixer.decay, mixer.erase, mixer.features) == (original.decay, original.erase, original.features)


def test_an_error_in_a_used_entry_stands_at_its_use() -> None:
    with pytest.raises(SpecError) as caught:
        loads("mixer:\n  use: gated_deltanet\n  erase: {rank: -1}\n  decay: {granularity: triple}\n", "a.yaml")
    assert caught.value.line == 3
    document = parse("mixer:\n  use: gated_deltanet\n", "a.yaml")
    assert document.span("mixer.decay.map").line == 2


@pytest.mark.parametrize(
    ("base", "overrides", "expected"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}, {"a": {"b": 1, "c": 3}}),
        ({"a": {"kind": "x", "b": 1}}, {"a": {"kind": "y"}}, {"a": {"kind": "y"}}),
        ({"a": {"kind": "x", "b": 1}}, {"a": {"kind": "x"}}, {"a": {"kind": "x", "b": 1}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
    ],
)
def test_merge_goes_down_to_the_leaves_but_not_across_kinds(base: dict, overrides: dict, expected: dict) -> None:
    assert merged(base, overrides) == expected


def test_dump_loads_back_to_the_same_candidate() -> None:
    candidate = loads(SPEC + "        kv_groups: 2\nname: '1e0'\nlint: {ignore: [{rule: CD101, reason: 'yes'}]}\n")
    assert loads(dump(candidate)) == candidate


def test_a_candidate_without_a_name_is_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "my-mixer.yaml"
    path.write_text(SPEC)
    assert load(path).name == "my-mixer"
    assert read(path).file == str(path)


def test_a_toml_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[mixer.readout]\nkind = 'exponential'\n")
    with pytest.raises(SpecError, match=r"TOML is for settings \(sextant.toml\); write the spec as YAML or JSON"):
        load(path)
