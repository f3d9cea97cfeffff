"""The importer under damage: no tuple-bearing key is without effect, and no file at all makes it crash.

Which keys bear on the tuple is said here by hand, from the fields of truth.json; the importer is not asked.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from checkers.check import check
from designspace.candidate import Candidate
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.huggingface.importer import model_types
from designspace.specfile import dump, load_config, loads

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / "tests" / "configs"
TRUTH = {entry["file"]: entry for entry in json.loads((CONFIGS / "truth.json").read_text())["entries"]}
GIVEN: dict[str, Any] = {file: json.loads((CONFIGS / file).read_text()) for file in TRUTH}
DEFAULTS: dict[str, Any] = json.loads((CONFIGS / "hf_defaults.json").read_text())
DAMAGES = 2000
FLA_TYPES = (
    "abc comba delta_net deltaformer forgetting_transformer gated_deltanet gated_deltaproduct gla gsa hgrn hgrn2"
    " kda lightnet linear_attn log_linear_mamba2 mamba3 mesa_net mla moba mom nsa parallax path_attn"
    " precond_gated_deltanet precond_kda raven retnet rodimus rwkv6 rwkv7 samba stickbreaking_attn transformer"
    " wall_transformer"
)
FLA_KEYS = (
    "attn attnres_block_size allow_neg_eigval block_type clamp_min conv_size dt_limit dt_min expand expand_k"
    " expand_v feature_map gate_init_bias head_dim hidden_act hidden_ratio hidden_size intermediate_size"
    " kv_lora_rank lower_bound max_position_embeddings n_groups norm_eps num_heads num_hidden_layers"
    " num_householder num_kv_heads num_slots num_v_heads qk_norm rope_fraction rope_scaling rope_theta ska_attn"
    " state_size use_short_conv value_dim window_size"
)
FLA = {name: {"model_type": name, "vocab_size": 32000, **dict.fromkeys(FLA_KEYS.split())} for name in FLA_TYPES.split()}

# Field of truth.json -> the keys of config files that say it, in every spelling of the given files.
BEARING = {
    "num_layers": "num_hidden_layers n_layer",
    "d_model": "hidden_size n_embd d_model",
    "heads": "num_attention_heads n_head num_heads mamba_num_heads linear_num_value_heads expand head_size",
    "kv_heads": "num_key_value_heads num_kv_heads new_decoder_architecture",
    "qk_heads": "n_groups linear_num_key_heads",
    "key_dim": "head_dim state_size ssm_state_size linear_key_head_dim qk_nope_head_dim qk_rope_head_dim expand_k",
    "value_dim": "v_head_dim linear_value_head_dim mamba_head_dim expand_v",
    "score_scale": "rope_scaling.mscale_all_dim scale_attn_weights",
    "position": "rope_theta rotary_emb_base rotary_pct rotary_dim partial_rotary_factor rope_scaling.factor"
    " rope_scaling.beta_fast rope_scaling.beta_slow rope_scaling.high_freq_factor rope_scaling.low_freq_factor"
    " rope_scaling.original_max_position_embeddings rope_scaling.rope_type rope_scaling.type rope_scaling.truncate"
    " rope_scaling.mscale",
    "window": "sliding_window",
    "qk_norm": "qk_norm qk_layernorm use_qk_norm",
    "mla": "kv_lora_rank",
    "short_conv": "conv_kernel conv_size conv_L_cache linear_conv_kernel_dim use_short_conv",
    "A_structure": "alibi use_beta use_gk use_gv attn",
    "phi": "index_topk qk_activation",
    "layers": "layer_types hybrid_override_pattern full_attention_interval full_attn_idxs sliding_window_pattern"
    " ssm_cfg.layer model_type",
}
WORDS = {  # another word of the vocabulary of a key
    "model_type": "llama_of_tomorrow",
    "qk_activation": "relu",
    "qk_norm": "sum",
    "rope_scaling.rope_type": "linear",
    "rope_scaling.type": "linear",
    "ssm_cfg.layer": "Mamba1",
}
WITHOUT_EFFECT = {  # the code of the model has another key in its place
    ("gpt-j-6b.json", "scale_attn_weights"): "GPTJAttention always divides by the square root of the head width",
    (
        "mamba-2.8b-hf.json",
        "expand",
    ): "intermediate_size is given (falcon-mamba-7b holds expand 16 beside 8192 = 2 * 4096)",
    ("nemotron-3-nano-30b.json", "expand"): "mamba_num_heads times mamba_head_dim is the inner width",
}
ATTENTION = {"layers": [0], "num_heads": 16}  # where `attn: null` says no layer is softmax


def imported(data: dict[str, Any]) -> Imported:
    return import_config(parse(json.dumps(data), "config.json", special_numbers=True), name="model")


def attempt(data: dict[str, Any]) -> Imported | SpecError:
    """What the importer says of a file; anything but these two is a crash."""
    try:
        return imported(data)
    except SpecError as error:
        return error


def holder(data: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """The object that holds a dotted key, and its last part."""
    *parents, last = key.split(".")
    for parent in parents:
        data = data.get(parent) or {}
    return data, last


def bearing_keys() -> Iterator[tuple[str, str]]:
    """Every given file with every tuple-bearing key that it holds."""
    for file, entry in TRUTH.items():
        positions = {kind.get("position", {}).get("type") for kind in entry["kinds"].values()}
        for field, keys in BEARING.items():
            for key in keys.split():
                data, last = holder(GIVEN[file], key)
                unread = field == "position" and "rope" not in positions  # left over in a file without rotation
                held = last in data and (data[last] is not None or key == "attn")
                if held and not unread and (file, key) not in WITHOUT_EFFECT:
                    yield file, key


def mutated(value: Any, key: str) -> Any:
    """Another value of the same type."""
    match value:
        case None:
            return ATTENTION
        case bool():
            return not value
        case int():
            return value * 2
        case float():
            return value / 2
        case [int(), *rest]:
            return rest
        case list():
            return value[::-1]
        case _ if key == "hybrid_override_pattern":
            return value.replace("M", "*", 1)
        case _:
            return WORDS[key]


@pytest.mark.parametrize(("file", "key"), [*bearing_keys()])
def test_a_tuple_bearing_key_changes_the_result_or_is_refused(file: str, key: str) -> None:
    data = deepcopy(GIVEN[file])
    before = imported(data).candidate
    inner, last = holder(data, key)
    inner[last] = mutated(inner[last], key)
    after = attempt(data)
    assert isinstance(after, SpecError) or after.candidate != before


@pytest.mark.parametrize("file", TRUTH)
def test_the_table_of_bearing_keys_covers_every_file(file: str) -> None:
    found = {key for name, key in bearing_keys() if name == file}
    layers = {"num_hidden_layers", "n_layer"} & found
    assert layers
    assert len(found) >= 3


EXTREMES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 2**31, 10**18, 10**250, 0.5, -0.5, 1e-300, 1e300, float("inf"), float("nan")),
    *("", "x", "auto", "64", "x" * 5000, [], [None], [0], ["full_attention"], [[["global"], 2]], {}, {"a": {"b": 1}}),
    *({"rope_type": "yarn"}, {"rope_type": "yarn", "factor": 0}, {"layers": [0], "num_heads": 0}),
)


def damaged(generator: random.Random) -> dict[str, Any]:
    """A known file with one to three keys deleted, or replaced by a value of another type or size."""
    data: dict[str, Any] = deepcopy(generator.choice([*GIVEN.values(), *DEFAULTS.values(), *FLA.values()]))
    for _ in range(generator.randint(1, 3)):
        inner = generator.choice([data, *(value for value in data.values() if isinstance(value, dict) and value)])
        key = generator.choice([*inner]) if inner else "attn"
        if generator.random() < 0.3:
            inner.pop(key, None)
        else:
            inner[key] = deepcopy(generator.choice(EXTREMES))
    return data


@pytest.mark.parametrize("seed", range(20))
def test_damaged_files_are_imported_or_refused(seed: int) -> None:
    generator = random.Random(seed)
    outcomes = {"imported": 0, "refused": 0}
    for _ in range(DAMAGES // 20):
        result = attempt(damaged(generator))
        if isinstance(result, SpecError):
            assert "\n" not in str(result)
            outcomes["refused"] += 1
        else:
            assert loads(dump(result.candidate)) == result.candidate
            outcomes["imported"] += 1
    assert min(outcomes.values()) > 0


def test_damaged_files_end_the_command_with_2_and_one_line(tmp_path: Path) -> None:
    generator = random.Random(0)
    refused: list[Path] = []
    while len(refused) < 3:
        data = damaged(generator)
        if isinstance(attempt(data), SpecError):
            refused.append(tmp_path / f"{len(refused)}.json")
            refused[-1].write_text(json.dumps(data, indent=1))
    for command, path in zip(("lint", "import", "show"), refused, strict=True):
        start = [sys.executable, "-c", "from search.cli import main; main()"]
        ended = subprocess.run([*start, command, str(path)], capture_output=True, text=True, cwd=ROOT)
        assert ended.returncode == 2
        assert ended.stderr.count("\n") == 1
        assert "Traceback" not in ended.stderr
        assert path.name in ended.stderr


def findings(candidate: Candidate, **of_file: Any) -> list[tuple[str, str, str]]:
    report = check(candidate, **of_file)
    return [(one.code, one.severity, one.path) for one in report.findings]


def verdicts(candidate: Candidate) -> list[tuple[str, str]]:
    return [(one.code, one.verdict) for one in check(candidate).verdicts]


@pytest.mark.parametrize("file", TRUTH)
def test_the_written_spec_lints_like_the_config(file: str) -> None:
    config = load_config(parse((CONFIGS / file).read_text(), file, special_numbers=True))
    spec = loads(dump(config.candidate))
    assert spec == config.candidate
    assert findings(config.candidate, document=config.document, unread=config.unread) == findings(spec)
    assert verdicts(config.candidate) == verdicts(spec)


@pytest.mark.parametrize("file", TRUTH)
def test_equal_neighbours_are_one_block(file: str) -> None:
    candidate = imported(GIVEN[file]).candidate
    bare = [block.model_copy(update={"repeat": 1}) for block in candidate.blocks]
    assert all(len([*run]) == 1 for _, run in groupby(bare))
    layers = sum(count["count"] for count in TRUTH[file]["layers"])
    assert candidate.num_layers == layers


@pytest.mark.parametrize(
    ("name", "like"),
    [("lama", "llama"), ("gated_delta_net", "gated_deltanet"), ("mamba_2", "mamba2"), ("qwen33", "qwen3")],
)
def test_unknown_model_type_names_the_nearest(name: str, like: str) -> None:
    with pytest.raises(SpecError, match=rf"nearest: .*\b{like}\b") as caught:
        imported({**DEFAULTS["llama"], "model_type": name})
    assert caught.value.path == "model_type"


def test_at_least_sixty_model_types_are_known() -> None:
    assert len(model_types()) >= 60
