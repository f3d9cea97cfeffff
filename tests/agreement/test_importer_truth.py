"""The importer against ground truth read from the model classes of transformers (tests/configs/truth.json)."""

import json
from pathlib import Path
from typing import Any

import pytest

from designspace.candidate import Candidate
from designspace.cost import cost
from designspace.document import parse, read
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.huggingface.importer import model_types
from designspace.mixer import MixerSpec

CONFIGS = Path(__file__).parent.parent / "configs"
TRUTH = {entry["file"]: entry for entry in json.loads((CONFIGS / "truth.json").read_text())["entries"]}
DEFAULTS: dict[str, Any] = json.loads((CONFIGS / "hf_defaults.json").read_text())


def imported(file: str) -> Imported:
    return import_config(read(CONFIGS / file, special_numbers=True))


def imported_data(data: dict[str, Any]) -> Imported:
    return import_config(parse(json.dumps(data), "config.json", special_numbers=True))


def layer_mixers(candidate: Candidate) -> list[MixerSpec]:
    return [mixer for block in candidate.blocks for _ in range(block.repeat) for mixer in block.mixers]


def truth_layers(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry["kinds"][run["kind"]] for run in entry["layers"] for _ in range(run["count"])]


@pytest.mark.parametrize("file", TRUTH)
def test_every_layer_equals_the_truth(file: str) -> None:
    entry = TRUTH[file]
    candidate = imported(file).candidate
    mixers, truths = layer_mixers(candidate), truth_layers(entry)
    assert len(mixers) == len(truths) == entry["num_layers"]
    assert candidate.model.model_dim == entry["d_model"]
    for mixer, truth in zip(mixers, truths, strict=True):
        heads = mixer.heads
        assert mixer.readout.kind == {"exp": "exponential", "id": "identity"}[truth["phi"]]
        assert (heads.num_heads, heads.state_dim, heads.head_dim) == (
            truth["heads"],
            truth["key_dim"],
            truth["value_dim"],
        )
        assert heads.groups == truth.get("qk_heads", truth["kv_heads"])
        assert mixer.base == pytest.approx(truth["score_scale"])
        assert mixer.support.window == truth["window"]
        assert _position(mixer) == _truth_position(truth)
        assert (mixer.features.norm != "none") == (truth["qk_norm"] is not None)


def _position(mixer: MixerSpec) -> tuple[Any, ...]:
    if mixer.rotation.source == "constant":
        return ("rope", mixer.rotation.theta, mixer.rotation.fraction, mixer.rotation.pairing)
    return ("alibi",) if mixer.shear.source == "constant" else ("none",)


def _truth_position(truth: dict[str, Any]) -> tuple[Any, ...]:
    position = truth["position"]
    match position["type"]:
        case "rope":
            return ("rope", position["theta"], position["fraction"], position["pairing"])
        case "alibi":
            return ("alibi",)
        case _:
            return ("none",)


def with_two_byte_values(candidate: Candidate) -> Candidate:
    """The convention of the truth file: one token, two bytes per value whatever format an engine keeps."""
    data = candidate.model_dump(mode="json")
    data["target"] |= {"seq_len": 1, "dtype": "bfloat16"}
    for block in data["blocks"]:
        block["mixer"]["execution"]["dtype"]["state"] = "bfloat16"
    return Candidate.model_validate(data)


@pytest.mark.parametrize("file", TRUTH)
def test_cache_and_state_bytes_equal_the_truth(file: str) -> None:
    entry = TRUTH[file]
    measured = cost(with_two_byte_values(imported(file).candidate))
    expected = entry["kv_cache_bytes_per_token_bf16"] + entry["state_bytes_per_sequence_bf16"]["total"]
    assert measured.memory_bytes == expected


@pytest.mark.parametrize("file", TRUTH)
def test_every_key_is_accounted_for(file: str) -> None:
    result = imported(file)
    assert result.unknown == ()
    assert set(result.read) | set(result.ignored) == set(json.loads((CONFIGS / file).read_text()))


@pytest.mark.parametrize("model_type", model_types())
def test_class_defaults_import_with_no_unknown_key(model_type: str) -> None:
    result = imported_data(DEFAULTS[model_type])
    assert result.unknown == ()
    assert result.candidate.target.provenance == "checkpoint"


def test_unread_key_that_bears_on_the_tuple_is_reported() -> None:
    assert imported_data({**DEFAULTS["llama"], "attention_temperature": 2.0}).unknown == ("attention_temperature",)


def test_unknown_model_type_names_the_nearest() -> None:
    with pytest.raises(SpecError, match="qwen3"):
        imported_data({"model_type": "qwen33"})


def test_wrong_type_names_the_key_and_the_line() -> None:
    text = json.dumps({**DEFAULTS["llama"], "num_attention_heads": "many"}, indent=1)
    with pytest.raises(SpecError, match="num_attention_heads") as caught:
        import_config(parse(text, "config.json"))
    assert caught.value.line == 1 + next(
        number for number, line in enumerate(text.splitlines()) if "num_attention_heads" in line
    )


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("llama", "num_hidden_layers", 10**9),
        ("llama", "rope_parameters", {"rope_theta": "ten thousand"}),
        ("llama", "torch_dtype", "float8_e4m3fn"),
        ("qwen2", "layer_types", 7),
        ("gpt_neo", "attention_types", [["global"]]),
        ("gpt_neo", "attention_types", [[["global"], 10**12]]),
    ],
)
def test_a_value_without_meaning_is_bad_input(model_type: str, key: str, value: object) -> None:
    data = {name: old for name, old in DEFAULTS[model_type].items() if name not in ("attention_layers", "dtype")}
    with pytest.raises(SpecError, match=r"rope_theta|" + key):
        imported_data({**data, key: value})


def test_gpt_neo_alternates_global_and_windowed_layers_without_a_scale() -> None:
    mixers = layer_mixers(imported_data(DEFAULTS["gpt_neo"]).candidate)
    assert [mixer.support.window for mixer in mixers[:4]] == [None, 256, None, 256]
    assert {mixer.base for mixer in mixers} == {1.0}


def test_jamba_puts_attention_where_period_and_offset_say() -> None:
    mixers = layer_mixers(imported_data(DEFAULTS["jamba"]).candidate)
    attention = [layer for layer, mixer in enumerate(mixers) if mixer.readout.kind == "exponential"]
    assert attention == [4, 12, 20, 28]
    assert all(mixers[layer].rotation.source == "none" for layer in attention)


def test_jamba_offset_may_be_zero_and_is_never_dropped() -> None:
    first = layer_mixers(imported_data({**DEFAULTS["jamba"], "attn_layer_offset": 0}).candidate)[0]
    assert first.readout.kind == "exponential"
    with pytest.raises(SpecError, match="attn_layer_offset"):
        imported_data({**DEFAULTS["jamba"], "attn_layer_offset": -1})


def test_falcon_h1_runs_a_recurrence_and_attention_side_by_side() -> None:
    blocks = imported_data({**DEFAULTS["falcon_h1"], "key_multiplier": 0.5}).candidate.blocks
    recurrence, attention = blocks[0].mixers
    assert recurrence.decay.granularity == "scalar"
    assert attention.base == pytest.approx(0.5 * 128**-0.5)


def test_qwen2_window_starts_at_max_window_layers() -> None:
    data = {**DEFAULTS["qwen2"], "use_sliding_window": True, "sliding_window": 512, "layer_types": None}
    mixers = layer_mixers(imported_data(data).candidate)
    assert [mixer.support.window for mixer in mixers] == [None] * 28 + [512] * 4


def test_bloom_slopes_for_head_counts_that_are_no_power_of_two() -> None:
    data = {**DEFAULTS["bloom"], "n_head": 12, "hidden_size": 768}
    slopes = layer_mixers(imported_data(data).candidate)[0].shear.slopes
    assert slopes == pytest.approx(
        [2.0**-k for k in range(1, 9)] + [2.0 ** -(k + 0.5) for k in range(4)],
    )
