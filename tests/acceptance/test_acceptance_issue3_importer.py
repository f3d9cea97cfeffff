"""The importer: every key accounted for, mutations seen, garbage refused with a message, lint the same as the spec."""

import copy
import json
import random
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from given import ROOT, sextant

from checkers import check
from designspace.candidate import Candidate
from designspace.canonical import fingerprint
from designspace.document import read
from designspace.errors import SpecError
from designspace.outside import Outside
from designspace.specfile import imported, load, load_with_places

CONFIGS = ROOT / "tests" / "configs"
GIVEN = sorted(
    one.name for one in CONFIGS.glob("*.json") if one.name not in ("truth.json", "hf_defaults.json", "modules.json")
)
DEFAULTS: dict[str, dict[str, Any]] = json.loads((CONFIGS / "hf_defaults.json").read_text())
Config = dict[str, Any]


def config(file: str) -> Config:
    return dict(json.loads((CONFIGS / file).read_text()))


def written(data: Config, folder: Path) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(data, indent=2))
    return path


def candidate(data: Config, folder: Path) -> Candidate:
    return load(written(data, folder))


def changed(file: str, **changes: Any) -> Config:
    return config(file) | changes


# One mutation for each key of a given file that a field of truth.json comes from: heads, kv heads, widths, scale,
# position, window, norms, softcap, sinks, schedule, state sizes.
MUTATIONS: dict[str, dict[str, Any]] = {
    "llama-2-7b": {"num_attention_heads": 16, "num_key_value_heads": 8, "hidden_size": 2048, "num_hidden_layers": 31},
    "llama-3.1-8b": {
        "rope_theta": 1e4,
        "rope_scaling": {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    },
    "mistral-7b-v0.1": {"sliding_window": None, "num_key_value_heads": 4, "rope_theta": 1e6},
    "mixtral-8x7b": {"sliding_window": 512, "num_key_value_heads": 32},
    "qwen3-0.6b": {"head_dim": 64, "num_key_value_heads": 16, "model_type": "qwen2"},
    "gemma-2b": {"head_dim": 128, "num_key_value_heads": 8},
    "phi-1": {"partial_rotary_factor": 0.25, "rotary_dim": 16, "qk_layernorm": True},
    "gpt2": {"n_embd": 1536, "n_head": 6, "n_layer": 11},
    "pythia-6.9b": {"rotary_pct": 0.5, "partial_rotary_factor": 0.5, "rope_theta": 5e4, "num_attention_heads": 16},
    "gpt-j-6b": {"rotary_dim": 128, "n_head": 32},
    "opt-6.7b": {"num_attention_heads": 16, "hidden_size": 2048},
    "bloom-560m": {"n_head": 8, "hidden_size": 2048},
    "falcon-40b": {"alibi": True, "num_kv_heads": 16, "new_decoder_architecture": False},
    "stablelm-3b-4e1t": {"partial_rotary_factor": 0.5, "num_key_value_heads": 8},
    "olmo2-7b": {"model_type": "olmo", "rope_theta": 1e4},
    "aya-23-8b": {"use_qk_norm": True, "rope_theta": 8e6},
    "command-r7b": {"sliding_window": 1024, "sliding_window_pattern": 2, "layer_switch": 2, "rope_theta": 1e4},
    "gpt-oss-20b": {
        "sliding_window": 64,
        "layer_types": ["full_attention"] * 24,
        "rope_scaling": {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096},
        "head_dim": 128,
        "num_key_value_heads": 64,
    },
    "glm4-9b": {"partial_rotary_factor": 1.0, "num_key_value_heads": 8},
    "deepseek-v2-lite": {
        "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64, "rope_scaling": None,
    },
    "deepseek-v3.2": {"kv_lora_rank": 256, "index_topk": 1024},
    "bert-arctic-embed-m": {"is_decoder": True, "num_attention_heads": 6},
    "mamba-2.8b-hf": {"state_size": 32, "conv_kernel": 3, "intermediate_size": 2560},
    "codestral-mamba-7b": {"state_size": 64, "n_groups": 1, "conv_kernel": 3, "num_heads": 64, "head_dim": 32},
    "mamba2-2.7b-ss": {"d_model": 1280, "n_layer": 63, "ssm_cfg": {"layer": "Mamba1"}},
    "rwkv5-world-1.5b": {"head_size": 128, "attention_hidden_size": 1024},
    "nemotron-3-nano-30b": {
        "mamba_num_heads": 32, "mamba_head_dim": 32, "ssm_state_size": 64, "n_groups": 4, "conv_kernel": 3,
        "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 64,
        "hybrid_override_pattern": "M*" * 26,
    },
    "lfm2-1.2b": {"conv_L_cache": 5, "full_attn_idxs": [2, 5], "rope_theta": 1e4, "num_key_value_heads": 32},
    "qwen3-next-80b": {
        "full_attention_interval": 3, "linear_num_value_heads": 16, "linear_num_key_heads": 32,
        "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 3, "head_dim": 128,
        "partial_rotary_factor": 0.5,
    },
    "minimax-text-01": {
        "layer_types": ["linear_attention"] * 80, "rotary_dim": 128, "head_dim": 64, "num_key_value_heads": 64,
    },
    "fla-gla-340m": {"expand_k": 1, "expand_v": 2, "num_heads": 8},
    "fla-deltanet-1.3b": {"conv_size": 3, "qk_norm": "sum", "num_heads": 8, "use_short_conv": False},
    "fla-gated-deltanet-1.3b": {"expand_v": 1, "head_dim": 128, "num_heads": 3},
}  # fmt: skip
EACH = [(file, key) for file, keys in MUTATIONS.items() for key in keys]


@pytest.mark.parametrize(("file", "key"), EACH)
def test_a_change_of_a_key_that_bears_on_the_tuple_is_seen(file: str, key: str, tmp_path: Path) -> None:
    before = fingerprint(load(CONFIGS / f"{file}.json"))
    try:
        after = fingerprint(candidate(changed(f"{file}.json", **{key: MUTATIONS[file][key]}), tmp_path))
    except SpecError:
        return
    assert after != before


PARTS = ("read", "defaulted", "derived", "ignored", "approximated", "unknown")


@pytest.mark.parametrize("file", GIVEN)
def test_every_key_of_a_given_file_has_its_place_in_the_account_with_a_reason(file: str) -> None:
    found = imported(read(CONFIGS / file, special_numbers=True))
    places = {key: [part for part in PARTS if key in getattr(found, part)] for key in config(file)}
    assert not [key for key, where in places.items() if not where]
    for part in ("defaulted", "derived", "ignored", "approximated"):
        for key, reason in getattr(found, part).items():
            assert len(reason) > 8, (part, key)
    assert not found.unknown


def test_the_command_import_prints_the_account() -> None:
    found = json.loads(sextant("import", str(CONFIGS / "gpt-oss-20b.json"), "--format", "json").stdout)
    assert set(PARTS) <= found.keys()
    for key in config("gpt-oss-20b.json"):
        assert any(key in found[part] for part in PARTS), key


UNDERSTOOD: dict[str, Any] = {  # on llama: keys of other models that bear on the tuple
    "attn_logit_softcapping": 50.0,
    "query_pre_attn_scalar": 256,
    "use_qk_norm": True,
    "no_rope_layers": [0] * 32,
    "alibi": True,
    "index_topk": 2048,
    "attention_multiplier": 0.5,
    "attention_chunk_size": 512,
}


@pytest.mark.parametrize("key", UNDERSTOOD)
def test_a_bearing_key_that_is_not_understood_is_an_error_that_names_it(key: str, tmp_path: Path) -> None:
    path = written(changed("llama-2-7b.json", **{key: UNDERSTOOD[key]}), tmp_path)
    with pytest.raises(SpecError, match=f"`{key}") as error:
        load(path)
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if f'"{key}"' in text)
    assert str(error.value).startswith(f"{path}:{line}: ")


def test_import_and_lint_exit_with_2_at_a_key_that_is_not_understood(tmp_path: Path) -> None:
    path = written(changed("llama-2-7b.json", alibi=True), tmp_path)
    for command in ("import", "lint"):
        found = sextant(command, str(path))
        assert found.returncode == 2, found.stdout
        assert "`alibi" in found.stderr


@pytest.mark.parametrize(("wrong", "right"), [("qwen33", "qwen3"), ("lama", "llama"), ("jambo", "jamba")])
def test_an_unknown_model_type_is_answered_with_the_nearest(wrong: str, right: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"nearest: .*{right}"):
        candidate({"model_type": wrong, "hidden_size": 64, "num_hidden_layers": 2}, tmp_path)


def test_the_command_import_names_the_nearest() -> None:
    found = sextant("import", "-", stdin=json.dumps({"model_type": "gated_delta_net", "hidden_size": 64}))
    assert found.returncode == 2
    assert "gated_deltanet" in found.stderr


SAME = (
    "llama-3.1-8b.json",
    "gpt-oss-20b.json",
    "qwen3-next-80b.json",
    "deepseek-v3.2.json",
    "bert-arctic-embed-m.json",
    "nemotron-3-nano-30b.json",
    "minimax-text-01.json",
)
OF_KEYS = "CD905"  # the rule about keys of a config.json, which a spec no longer has


@pytest.mark.parametrize("file", SAME)
def test_the_imported_spec_lints_the_same_as_the_config(file: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    assert sextant("import", str(CONFIGS / file), "-o", str(spec)).returncode == 0
    first, second = load(CONFIGS / file), load(spec)
    assert fingerprint(first) == fingerprint(second)
    assert first.target == second.target
    one, two = check(first), check(second)
    assert one.verdicts == two.verdicts
    assert [(f.code, f.severity, f.path, f.message, f.evidence) for f in one.findings if f.code != OF_KEYS] == [
        (f.code, f.severity, f.path, f.message, f.evidence) for f in two.findings if f.code != OF_KEYS
    ]


def test_equal_layers_in_a_row_are_one_block_of_the_spec() -> None:
    for file in GIVEN:
        blocks = load(CONFIGS / file).blocks
        for first, second in pairwise(blocks):
            assert first.model_copy(update={"repeat": 1}) != second.model_copy(update={"repeat": 1}), file


def spans(file: str, folder: Path, **changes: Any) -> dict[tuple[str, str], str]:
    """The text in the file that each finding points at, by code and path."""
    path = written(changed(file, **changes), folder)
    found = sextant("lint", str(path), "--format", "json", "--fail-on", "never")
    lines = path.read_text().splitlines()
    result = {}
    for one in json.loads(found.stdout)["findings"]:
        span = one["span"]
        assert span["file"] == str(path)
        result[one["code"], one["path"]] = lines[span["line"] - 1].strip()
    return result


def test_findings_point_at_the_key_of_the_config(tmp_path: Path) -> None:
    found = spans("mistral-7b-v0.1.json", tmp_path, max_position_embeddings=1_000_000)
    assert found["CD703", "blocks[0].mixer.support"] == '"sliding_window": 4096,'
    found = spans("aya-23-8b.json", tmp_path)
    assert found["CD807", "model.residual_dtype"].startswith('"torch_dtype"')
    found = spans("deepseek-v3.2.json", tmp_path)
    assert found["CD906", "blocks[0].mixer"].startswith('"index_topk": 2048')
    found = spans("gpt-oss-20b.json", tmp_path)
    assert found["CD101", "blocks[1].mixer.readout"].startswith('"full_attention"')
    found = spans("llama-2-7b.json", tmp_path, my_flag=1)
    assert found["CD905", "my_flag"] == '"my_flag": 1'


def test_unsupported_parts_keep_the_rest(tmp_path: Path) -> None:
    glm = DEFAULTS["doge"] | {"model_type": "doge"}
    mixer = candidate(glm, tmp_path).blocks[0].mixer
    assert isinstance(mixer, Outside)
    assert mixer.outside == "sparse_support"
    assert mixer.nearest is not None
    assert mixer.nearest.heads.state_dim == glm["hidden_size"] // glm["num_attention_heads"]
    gsa = {"model_type": "gsa", "hidden_size": 256, "num_hidden_layers": 4}
    hybrid = candidate(gsa | {"attn": {"layers": [1], "num_heads": 4, "window_size": 64}}, tmp_path)
    kinds = [isinstance(block.mixer, Outside) for block in hybrid.blocks for _ in range(block.repeat)]
    assert kinds == [True, False, True, True]
    report = check(hybrid)
    outside = [one for one in report.findings if one.code == "CD906"]
    assert outside
    assert all(one.severity == "info" for one in outside)


def test_bert_is_told_apart_from_its_decoder(tmp_path: Path) -> None:
    encoder = load(CONFIGS / "bert-arctic-embed-m.json").blocks[0].mixer
    assert isinstance(encoder, Outside)
    assert encoder.outside == "bidirectional"
    decoder = candidate(changed("bert-arctic-embed-m.json", is_decoder=True), tmp_path).blocks[0].mixer
    assert not isinstance(decoder, Outside)


SCOPE = sorted(DEFAULTS)


@pytest.mark.parametrize("model_type", SCOPE)
def test_class_defaults_import_or_give_a_reason(model_type: str, tmp_path: Path) -> None:
    data = DEFAULTS[model_type] | {"model_type": model_type}
    found = imported(read(written(data, tmp_path), special_numbers=True))
    assert not found.unknown
    for _, outside in found.candidate.outside():
        assert len(outside.reason) > 20
    names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    layers = next((data[name] for name in names if data.get(name)), len(data.get("layers_block_type") or ()))
    serial_or_double = model_type in ("zamba", "zamba2", "longcat_flash")
    assert serial_or_double or found.candidate.num_layers == layers


VALUES = (
    None,
    True,
    0,
    -1,
    1,
    3,
    1e9,
    -3.5,
    0.5,
    "",
    "x",
    "full_attention",
    [],
    [1],
    ["a"],
    {},
    {"a": 1},
    [None],
    10**20,
)


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list) and len(value) < 100:
            yield from paths(value, (*path, key))


def damage(data: Config, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 4))):
        *above, key = rng.choice(list(paths(data)))
        holder: Any = data
        for step in above:
            holder = holder[step]
        if rng.random() < 0.4:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        if not data:
            return


def test_deletions_and_changes_of_type_never_crash(tmp_path: Path) -> None:
    rng = random.Random(5)
    pool = [config(file) for file in GIVEN] + [one | {"model_type": key} for key, one in DEFAULTS.items()]
    refused: list[str] = []
    for _ in range(300):
        data = copy.deepcopy(rng.choice(pool))
        damage(data, rng)
        try:
            check(load_with_places(written(data, tmp_path)).candidate)
        except SpecError as error:
            refused.append(str(error))
    assert 30 < len(refused) < 270
    assert min(map(len, refused)) > 20


def best(action: Callable[[], Any], times: int = 5) -> float:
    """Seconds of the fastest call."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def test_the_longest_given_config_imports_within_50_ms() -> None:
    longest = max(GIVEN, key=lambda file: (CONFIGS / file).stat().st_size)
    deepest = "minimax-text-01.json"  # 80 layers, 70 of them unlike each other
    for file in {longest, deepest}:
        assert best(lambda file=file: load(CONFIGS / file)) < 0.05
