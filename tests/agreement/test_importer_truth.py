"""The importer against ground truth read from the model classes of transformers (tests/configs/truth.json).

Every field of an entry is compared; `conventions` in the file says what each means.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from designspace import catalogue
from designspace.candidate import Candidate
from designspace.cost import cost
from designspace.document import parse, read
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec
from designspace.outside import Outside

CONFIGS = Path(__file__).parent.parent / "configs"
TRUTH_FILE: dict[str, Any] = json.loads((CONFIGS / "truth.json").read_text())
TRUTH = {entry["file"]: entry for entry in TRUTH_FILE["entries"]}
PRECEDENCE = TRUTH_FILE["conventions"]["precedence"].split(" > ")
DEFAULTS: dict[str, Any] = json.loads((CONFIGS / "hf_defaults.json").read_text())


def imported(file: str) -> Imported:
    return import_config(read(CONFIGS / file, special_numbers=True))


def imported_data(data: dict[str, Any]) -> Imported:
    return import_config(parse(json.dumps(data), "config.json", special_numbers=True))


def layer_mixers(candidate: Candidate) -> list[MixerSpec | None]:
    """The mixer of each layer: the nearest one where the layer is outside the grammar, None where there is none."""
    found: list[MixerSpec | None] = []
    for block in candidate.blocks:
        match block.mixer:
            case None:
                mixer = None
            case Outside(nearest=nearest):
                mixer = nearest
            case MixerSpec() as single:
                mixer = single
            case parallel:
                raise TypeError(f"no given file has {parallel!r}")
        found += [mixer] * block.repeat
    return found


def mixers_of(data: dict[str, Any]) -> list[MixerSpec]:
    """The mixers of the layers of a file, in order."""
    return [mixer for mixer in layer_mixers(imported_data(data).candidate) if mixer is not None]


def truth_layers(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry["kinds"][run["kind"]] for run in entry["layers"] for _ in range(run["count"])]


def pairs(file: str) -> list[tuple[MixerSpec, dict[str, Any]]]:
    """Each distinct layer with its record."""
    mixers, truths = layer_mixers(imported(file).candidate), truth_layers(TRUTH[file])
    assert len(mixers) == len(truths)
    seen: list[tuple[MixerSpec, dict[str, Any]]] = []
    for mixer, truth in zip(mixers, truths, strict=True):
        if mixer is not None and truth["mixer"] != "none" and (mixer, truth) not in seen:
            seen.append((mixer, truth))
    return seen


def is_softmax(mixer: MixerSpec) -> bool:
    return mixer.readout.kind == "exponential"


FEATURE: dict[str, Callable[[MixerSpec], bool]] = {
    "mla": lambda mixer: mixer.heads.latent_dim is not None,
    "gated_softmax": lambda mixer: mixer.io.gate == "sigmoid",
    "softmax_sink": lambda mixer: mixer.normalization.kind == "sum_with_sink",
    "softmax_softcap": lambda mixer: mixer.readout.is_capped,
    "softmax_qknorm": lambda mixer: mixer.features.norm != "none",
    "softmax_alibi": lambda mixer: mixer.shear.source == "constant",
    "softmax_relbias": lambda mixer: mixer.shear.source == "table",
    "softmax_unscaled": lambda mixer: mixer.base == 1,
    "softmax_window": lambda mixer: mixer.support.window is not None,
    "softmax_partial_rope": lambda mixer: mixer.rotation.source == "constant" and mixer.rotation.fraction < 1,
    "softmax_rope": lambda mixer: mixer.rotation.source == "constant" and mixer.rotation.fraction == 1,
    "softmax_nope": lambda mixer: mixer.evolution_is_identity,
}


def family(mixer: MixerSpec) -> dict[str, Any]:
    """What names a recurrence, without sizes, ranges and output stage."""
    return {
        "readout": mixer.readout.kind,
        "decay": (mixer.decay.granularity, mixer.decay.source, mixer.decay.map, mixer.decay.spacing),
        "rotation": mixer.rotation.source,
        "erase": (mixer.erase.direction, mixer.erase.rank, mixer.erase.per_channel, mixer.erase.compose),
        "lift": mixer.lift.kind,
        "gate": mixer.scaling.gate,
        "features": (mixer.features.map, mixer.features.norm),
        "support": (mixer.support.mask, mixer.support.read, mixer.support.diagonal),
        "normalization": mixer.normalization.kind,
        "layout": mixer.heads.layout,
    }


@pytest.mark.parametrize("file", TRUTH)
def test_mixer_is_the_named_one(file: str) -> None:
    for mixer, truth in pairs(file):
        names = {truth["mixer"], *truth["also"]}
        if is_softmax(mixer):
            assert all(FEATURE[name](mixer) for name in names)
            assert next(name for name in PRECEDENCE if FEATURE[name](mixer)) in names
        else:
            assert family(mixer) == family(catalogue.get(truth["mixer"]).mixer)


@pytest.mark.parametrize("file", TRUTH)
def test_sizes_and_schedule_equal_the_truth(file: str) -> None:
    entry = TRUTH[file]
    candidate = imported(file).candidate
    mixers = layer_mixers(candidate)
    assert candidate.num_layers == entry["num_layers"]
    assert candidate.model.model_dim == entry["d_model"]
    assert [layer for layer, mixer in enumerate(mixers) if mixer is None] == entry["no_mixer_layer_indices"]
    attention = [layer for layer, mixer in enumerate(mixers) if mixer is not None and is_softmax(mixer)]
    assert attention == entry["attention_layer_indices"]
    recurrent = [layer for layer, mixer in enumerate(mixers) if mixer is not None and not is_softmax(mixer)]
    assert recurrent == entry["recurrent_layer_indices"]


@pytest.mark.parametrize("file", TRUTH)
def test_heads_equal_the_truth(file: str) -> None:
    for mixer, truth in pairs(file):
        heads = mixer.heads
        found = (heads.num_heads, heads.state_dim, heads.head_dim)
        assert found == (truth["heads"], truth["key_dim"], truth["value_dim"])
        streams = {"qk": heads.num_heads, "kv": heads.num_heads} | {heads.shared: heads.groups}
        assert streams["kv"] == truth["kv_heads"]
        assert streams["qk"] == truth.get("qk_heads", truth["heads"])
        latent = truth.get("mla", {"kv_lora_rank": None, "rope_dim": 0})
        assert (heads.latent_dim, heads.shared_key_dim) == (latent["kv_lora_rank"], latent["rope_dim"])


@pytest.mark.parametrize("file", TRUTH)
def test_score_and_support_equal_the_truth(file: str) -> None:
    for mixer, truth in pairs(file):
        assert mixer.readout.kind == {"exp": "exponential", "id": "identity"}[truth["phi"]]
        assert mixer.base == pytest.approx(truth["score_scale"], rel=1e-9)
        assert (mixer.support.window, mixer.support.chunk) == (truth["window"], truth.get("chunk"))
        assert getattr(mixer.readout, "softcap", None) == truth["softcap"]
        assert (mixer.normalization.kind == "sum_with_sink") == truth.get("sink", False)


@pytest.mark.parametrize("file", TRUTH)
def test_positions_equal_the_truth(file: str) -> None:
    positions = imported(file).candidate.model.positions
    for mixer, truth in pairs(file):
        assert found_position(mixer, positions) == pytest.approx(expected_position(truth))


def found_position(mixer: MixerSpec, positions: str) -> dict[str, Any]:
    """Position code of a mixer, and what is added to the embeddings."""
    rotation, heads = mixer.rotation, mixer.heads.num_heads
    if rotation.source == "constant":
        found = {"type": "rope", "theta": rotation.theta, "pairing": rotation.pairing}
        found |= {"fraction": 2 * rotation.pairs(mixer.key_dim) / mixer.key_dim, "factor": rotation.attention_factor}
        if (scaling := rotation.scaling) is not None:
            found |= {"scaling": scaling.kind, "stretch": scaling.factor, "length": scaling.original_length}
        return found
    if mixer.shear.source == "constant":
        slopes = {f"slope {head}": slope for head, slope in enumerate(mixer.shear.head_slopes(heads))}
        return {"type": "alibi", "scaled": mixer.shear.scaled} | slopes
    return {"type": "none"} if positions == "none" else {"type": "absolute", "kind": positions}


def expected_position(truth: dict[str, Any]) -> dict[str, Any]:
    """The same from `position` of a record."""
    position: dict[str, Any] = truth["position"]
    match position["type"]:
        case "rope":
            found = {key: position[key] for key in ("type", "theta", "pairing", "fraction")}
            found["factor"] = position.get("attention_factor", 1.0)
            if (scaling := position.get("scaling")) is not None:
                found |= {"scaling": scaling["kind"], "stretch": scaling["factor"], "length": scaling["original_max"]}
            return found
        case "alibi":
            formula = re.match(r"2\^\(-(\d+)h/(\d+)\), h=1\.\.(\d+)$", position["slopes"])
            assert formula is not None
            exponent, over, count = map(int, formula.groups())
            slopes = {f"slope {head}": 2.0 ** (-exponent * (head + 1) / over) for head in range(count)}
            return {"type": "alibi", "scaled": position["added"] != "after the score scale"} | slopes
        case _:
            return position


QK_NORM = {
    None: ("none", "head", "before_rotation"),
    "l2": ("l2", "head", "before_rotation"),
    "rms per head, before rope": ("rms_weighted", "head", "before_rotation"),
    "rms per head (1+w), before rope": ("rms_weighted", "head", "before_rotation"),
    "rms over the whole projection, before rope": ("rms_weighted", "all_heads", "before_rotation"),
}
EVOLUTION = {  # A_structure: decay, rotation, erase, shear, lift
    "I": ("none", "none", "none", "none", "none"),
    "rotation": ("none", "constant", "none", "none", "none"),
    "unipotent": ("none", "none", "none", "constant", "none"),
    "scalar": ("scalar", "none", "none", "none", "none"),
    "diag": ("diagonal", "none", "none", "none", "none"),
    "householder": ("none", "none", "key", "none", "none"),
    "scalar+householder": ("scalar", "none", "key", "none", "none"),
    "shift": ("none", "none", "none", "none", "shift"),
}
CONVOLVED = {
    "q,k,v": {"q", "k", "v"},
    "x": {"v"},
    "x,B,C": {"q", "k", "v"},
    "token shift": {"v"},
}  # one shift for all streams


@pytest.mark.parametrize("file", TRUTH)
def test_norms_and_evolution_equal_the_truth(file: str) -> None:
    for mixer, truth in pairs(file):
        features = mixer.features
        assert (features.norm, features.norm_over, features.norm_order) == QK_NORM[truth["qk_norm"]]
        parts = (mixer.decay.granularity, mixer.rotation.source, mixer.erase.direction, mixer.shear.source)
        assert (*parts, mixer.lift.kind) == EVOLUTION[truth["A_structure"]]


@pytest.mark.parametrize("file", TRUTH)
def test_input_and_output_stage_equal_the_truth(file: str) -> None:
    for mixer, truth in pairs(file):
        conv = truth.get("short_conv", {"kernel": 0})
        assert mixer.io.short_conv.width == conv["kernel"]
        assert set(mixer.io.short_conv.on) == (CONVOLVED[conv["on"]] if "on" in conv else set())
        assert mixer.lift.width == truth["extra"].get("kernel")
        if is_softmax(mixer):
            assert mixer.io.gate == {None: "none", "sigmoid per channel": "sigmoid"}[truth.get("output_gate")]
        elif truth["extra"].get("output_norm") == "gated RMS":
            assert (mixer.io.output_norm, mixer.io.order) == ("group_rms", "gate_then_norm")


@pytest.mark.parametrize("file", TRUTH)
def test_verdict_and_reason_equal_the_truth(file: str) -> None:
    entry, result = TRUTH[file], imported(file)
    assert result.verdict == entry["expected"]
    outside = [outside for _, outside in result.candidate.outside()]
    for found in outside:
        assert set(re.findall(r"\d+", entry["reason"].split(" on all")[0])) <= set(re.findall(r"\d+", found.reason))
        assert found.outside == {"unsupported": "sparse_support", "not_applicable": "bidirectional"}[entry["expected"]]
        assert found.nearest is not None
        assert (found.nearest.support.mask == "none") == (entry["expected"] == "not_applicable")


def with_two_byte_values(candidate: Candidate) -> Candidate:
    """The convention of the truth file: one token, two bytes per value whatever format an engine keeps."""
    data = candidate.model_dump(mode="json")
    data["target"] |= {"seq_len": 1, "dtype": "bfloat16"}
    for block in data["blocks"]:
        if block["mixer"] is not None and "execution" in block["mixer"]:
            block["mixer"]["execution"]["dtype"]["state"] = "bfloat16"
    return Candidate.model_validate(data)


@pytest.mark.parametrize("file", [file for file, entry in TRUTH.items() if entry["expected"] == "ok"])
def test_cache_and_state_bytes_equal_the_truth(file: str) -> None:
    entry, candidate = TRUTH[file], with_two_byte_values(imported(file).candidate)
    measured = cost(candidate)
    assert measured.state_bytes == entry["state_bytes_per_sequence_bf16"]["total"]
    assert measured.cache_bytes_per_token == entry["kv_cache_bytes_per_token_bf16"]
    bounded = [located for located in candidate.mixers() if located.mixer.support.window is not None]
    paths = {located.path for located in bounded}
    unbounded = sum(
        layer.repeat * layer.mixer.cache_bytes_per_token for layer in measured.layers if layer.path not in paths
    )
    assert unbounded == entry["kv_cache_bytes_per_token_bf16_unbounded_layers"]


@pytest.mark.parametrize("file", TRUTH)
def test_every_key_is_accounted_for(file: str) -> None:
    result = imported(file)
    assert result.unknown == ()
    accounted = {key for key in (*result.read, *result.ignored) if "." not in key}
    assert accounted == set(json.loads((CONFIGS / file).read_text()))


@pytest.mark.parametrize("model_type", sorted(DEFAULTS))
def test_class_defaults_import_with_no_unknown_key(model_type: str) -> None:
    result = imported_data(DEFAULTS[model_type])
    assert result.unknown == ()
    assert result.candidate.target.provenance == "checkpoint"


def test_unread_key_that_bears_on_the_tuple_is_an_error_and_any_other_is_reported() -> None:
    with pytest.raises(SpecError, match="attention_temperature"):
        imported_data({**DEFAULTS["llama"], "attention_temperature": 2.0})
    assert imported_data({**DEFAULTS["llama"], "favourite_colour": "blue"}).unknown == ("favourite_colour",)


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
    mixers = mixers_of(DEFAULTS["gpt_neo"])
    assert [mixer.support.window for mixer in mixers[:4]] == [None, 256, None, 256]
    assert {mixer.base for mixer in mixers} == {1.0}


def test_jamba_puts_attention_where_period_and_offset_say() -> None:
    mixers = mixers_of(DEFAULTS["jamba"])
    attention = [layer for layer, mixer in enumerate(mixers) if mixer.readout.kind == "exponential"]
    assert attention == [4, 12, 20, 28]
    assert all(mixers[layer].rotation.source == "none" for layer in attention)


def test_jamba_offset_may_be_zero_and_is_never_dropped() -> None:
    first = mixers_of({**DEFAULTS["jamba"], "attn_layer_offset": 0})[0]
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
    mixers = mixers_of(data)
    assert [mixer.support.window for mixer in mixers] == [None] * 28 + [512] * 4


def test_bloom_slopes_for_head_counts_that_are_no_power_of_two() -> None:
    data = {**DEFAULTS["bloom"], "n_head": 12, "hidden_size": 768}
    slopes = mixers_of(data)[0].shear.slopes
    assert slopes == pytest.approx(
        [2.0**-k for k in range(1, 9)] + [2.0 ** -(k + 0.5) for k in range(4)],
    )
