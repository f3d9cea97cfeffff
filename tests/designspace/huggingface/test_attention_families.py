"""Quirks of the attention-only model types: each test fails if its quirk is dropped.

Source of every expected value: configuration and modeling files of transformers 5.24, or the code beside the weights.
"""

import json
import math
from typing import Any

import pytest

from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec
from designspace.outside import Outside

LAYERS = 8
WINDOW = "sliding_attention"
FULL = "full_attention"
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "original_max_position_embeddings": 8192,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


def result(model_type: str, **keys: Any) -> Imported:
    data = {"model_type": model_type, "num_hidden_layers": LAYERS, **keys}
    return import_config(parse(json.dumps(data), "config.json", special_numbers=True))


def mixers(model_type: str, **keys: Any) -> list[MixerSpec]:
    """The mixer of each layer of a file that omits what equals the class default."""
    blocks = result(model_type, **keys).candidate.blocks
    return [mixer for block in blocks for _ in range(block.repeat) for mixer in block.mixers]


def windows(model_type: str, **keys: Any) -> list[int | None]:
    return [mixer.support.window for mixer in mixers(model_type, **keys)]


def rotates(model_type: str, **keys: Any) -> list[bool]:
    return [mixer.rotation.source == "constant" for mixer in mixers(model_type, **keys)]


def norm(mixer: MixerSpec) -> tuple[str, str, str, bool]:
    features = mixer.features
    return features.norm, features.norm_over, features.norm_order, features.gain_shared


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, (24, 128, 8)),
        ({"head_dim": None}, (24, 128, 8)),
        ({"head_dim": 96, "num_key_value_heads": None}, (24, 96, 24)),
    ],
)
def test_absent_is_the_class_default_and_null_is_derived(keys: dict[str, Any], expected: tuple[int, ...]) -> None:
    heads = mixers("mistral", hidden_size=3072, num_attention_heads=24, **keys)[0].heads
    assert (heads.num_heads, heads.state_dim, heads.groups) == expected


@pytest.mark.parametrize(("keys", "width"), [({}, 128), ({"head_dim": None}, 64), ({"head_dim": 80}, 80)])
def test_head_dim_absent_null_and_explicit_differ(keys: dict[str, Any], width: int) -> None:
    assert mixers("qwen3", hidden_size=2048, num_attention_heads=32, **keys)[0].heads.state_dim == width


@pytest.mark.parametrize("model_type", ["mistral", "ministral"])
@pytest.mark.parametrize(
    ("keys", "window"), [({}, 4096), ({"sliding_window": None}, None), ({"sliding_window": 512}, 512)]
)
def test_window_absent_null_and_explicit_differ(model_type: str, keys: dict[str, Any], window: int | None) -> None:
    assert windows(model_type, **keys) == [window] * LAYERS


@pytest.mark.parametrize("model_type", ["mixtral", "starcoder2", "phi3", "phimoe"])
def test_window_on_every_layer_only_if_the_key_holds_it(model_type: str) -> None:
    assert windows(model_type) == [None] * LAYERS
    assert windows(model_type, sliding_window=64) == [64] * LAYERS


def test_layer_types_count_for_ministral_and_not_for_mistral() -> None:
    types = [FULL, WINDOW] * 4
    assert windows("ministral", layer_types=types) == [None, 4096] * 4
    assert windows("mistral", layer_types=types) == [4096] * LAYERS


@pytest.mark.parametrize(
    ("model_type", "windowed"),
    [
        ("qwen2", [False] * 3 + [True] * 5),  # from max_window_layers on
        ("qwen3", [False] * 3 + [True] * 5),
        ("qwen2_moe", [True, False, True] + [False] * 5),  # even layers below max_window_layers
        ("qwen3_moe", [True] * 8),
    ],
)
def test_qwen_windows_need_their_switch(model_type: str, windowed: list[bool]) -> None:
    keys = {"sliding_window": 512, "max_window_layers": 3}
    assert windows(model_type, **keys) == [None] * LAYERS
    assert windows(model_type, use_sliding_window=True, **keys) == [512 if on else None for on in windowed]


def test_qwen_layer_types_have_the_last_word_unless_switched_off() -> None:
    keys = {"sliding_window": 512, "layer_types": [FULL, WINDOW] * 4}
    assert windows("qwen2", use_sliding_window=True, **keys) == [None, 512] * 4
    assert windows("qwen2", use_sliding_window=False, **keys) == [None] * LAYERS


def test_qwen_first_windowed_layer_is_28_by_default() -> None:
    found = windows("qwen2", num_hidden_layers=32, use_sliding_window=True)
    assert found == [None] * 28 + [4096] * 4


@pytest.mark.parametrize(
    "model_type", ["helium", "ernie4_5", "ernie4_5_moe", "glm", "glm4", "cohere", "cohere2", "chatglm"]
)
def test_interleaved_pairs(model_type: str) -> None:
    keys = {"num_layers": LAYERS} if model_type == "chatglm" else {}
    assert mixers(model_type, **keys)[0].rotation.pairing == "interleaved"


@pytest.mark.parametrize(
    ("model_type", "theta"),
    [
        ("llama", 1e4),
        ("helium", 1e5),
        ("exaone", 5e5),
        ("ernie4_5", 5e5),
        ("bitnet", 5e5),
        ("cohere", 5e5),
        ("cohere2", 1e4),
        ("olmo3", 5e5),
        ("flex_olmo", 5e5),
        ("mixtral", 1e6),
        ("phimoe", 1e6),
        ("cwm", 1e6),
        ("ministral3", 1e6),
        ("solar_open", 1e6),
        ("smollm3", 2e6),
        ("minimax_m2", 5e6),
        ("apertus", 1.2e7),
    ],
)
def test_class_default_of_the_base(model_type: str, theta: float) -> None:
    assert mixers(model_type)[0].rotation.theta == theta
    keys = {"rope_parameters": {"rope_theta": 77.0, "rope_type": "default"}}
    assert mixers(model_type, **keys)[0].rotation.theta == 77


@pytest.mark.parametrize(
    ("model_type", "fraction"),
    [("glm", 0.5), ("glm4", 0.5), ("phi", 0.5), ("persimmon", 0.5), ("stablelm", 0.25), ("stablelm_epoch", 0.25)],
)
def test_class_default_of_the_rotating_share(model_type: str, fraction: float) -> None:
    assert mixers(model_type)[0].rotation.fraction == fraction
    key = "rope_pct" if model_type == "stablelm_epoch" else "partial_rotary_factor"
    assert mixers(model_type, **{key: 0.75})[0].rotation.fraction == 0.75


def test_early_stablelm_files_name_the_heads_twice() -> None:
    sizes = {"hidden_size": 2560, "num_attention_heads": 20, "num_key_value_heads": 20}
    assert mixers("stablelm_epoch", num_heads=20, **sizes)[0].heads.num_heads == 20
    with pytest.raises(SpecError, match="num_heads"):
        result("stablelm_epoch", num_heads=32, **sizes)


def test_rotary_dim_counts_channels() -> None:
    assert mixers("minimax_m2", rotary_dim=64)[0].rotation.fraction == 0.5
    with pytest.raises(SpecError, match="rotary_dim"):
        result("phi", rotary_dim=48, partial_rotary_factor=0.5)


def test_glm4_moe_pairs_halves_of_half_the_channels() -> None:
    rotation = mixers("glm4_moe", hidden_size=5120, head_dim=128)[0].rotation
    assert (rotation.fraction, rotation.pairing) == (0.5, "half")


@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        ("llama", ("none", "head", "before_rotation", True)),
        ("qwen3", ("rms_weighted", "head", "before_rotation", True)),
        ("qwen3_moe", ("rms_weighted", "head", "before_rotation", True)),
        ("exaone4", ("rms_weighted", "head", "before_rotation", True)),
        ("apertus", ("rms_weighted", "head", "before_rotation", True)),
        ("dots1", ("rms_weighted", "head", "before_rotation", True)),
        ("hunyuan_v1_dense", ("rms_weighted", "head", "after_rotation", True)),
        ("hunyuan_v1_moe", ("rms_weighted", "head", "after_rotation", True)),
        ("nanochat", ("rms", "head", "after_rotation", True)),
        ("persimmon", ("layernorm", "head", "before_rotation", True)),
    ],
)
def test_norm_of_queries_and_keys_that_no_key_says(model_type: str, expected: tuple[str, str, str, bool]) -> None:
    assert norm(mixers(model_type)[0]) == expected


@pytest.mark.parametrize("model_type", ["olmo2", "olmo3", "flex_olmo", "olmoe", "minimax_m2"])
def test_norm_over_the_whole_projection(model_type: str) -> None:
    assert norm(mixers(model_type)[0])[:3] == ("rms_weighted", "all_heads", "before_rotation")


@pytest.mark.parametrize(
    ("model_type", "key", "expected"),
    [
        ("cohere", "use_qk_norm", ("layernorm", "head", "before_rotation", False)),
        ("stablelm", "qk_layernorm", ("layernorm", "head", "before_rotation", False)),
        ("phi", "qk_layernorm", ("layernorm", "head", "before_rotation", True)),
        ("persimmon", "qk_layernorm", ("layernorm", "head", "before_rotation", True)),
        ("glm4_moe", "use_qk_norm", ("rms_weighted", "head", "before_rotation", True)),
    ],
)
def test_switch_of_the_norm(model_type: str, key: str, expected: tuple[str, str, str, bool]) -> None:
    assert norm(mixers(model_type, head_dim=64, **{key: True})[0]) == expected
    assert norm(mixers(model_type, head_dim=64, **{key: False})[0])[0] == "none"


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("apertus", "qk_norm", False),
        ("hunyuan_v1_dense", "use_qk_norm", False),
        ("hunyuan_v1_dense", "use_cla", True),
        ("minimax_m2", "use_qk_norm", False),
        ("minimax_m2", "attn_type_list", [0, 1]),
        ("cohere2", "position_embedding_type", "alibi"),
        ("cohere2", "order_of_interleaved_layers", "global_attn_first"),
        ("chatglm", "position_encoding_2d", True),
        ("stablelm_epoch", "rotary_scaling_factor", 2.0),
        ("exaone4", "sliding_window_pattern", "LLX"),
        ("smollm3", "no_rope_layers", [1, 0]),
        ("smollm3", "no_rope_layers", [2] * LAYERS),
        ("jetmoe", "num_attention_heads", 7),
        ("olmo3", "layer_types", ["linear_attention"] * LAYERS),
    ],
)
def test_a_value_that_the_code_does_not_follow_is_an_error(model_type: str, key: str, value: object) -> None:
    with pytest.raises(SpecError, match=key):
        result(model_type, **{key: value})


def test_cohere2_full_layers_have_no_positions() -> None:
    expected = [True, True, True, False] * 2
    assert rotates("cohere2") == expected
    assert windows("cohere2") == [4096 if on else None for on in expected]
    assert rotates("cohere2", layer_switch=2) == [True, False] * 4
    assert rotates("cohere2", layer_types=[FULL, WINDOW] * 4) == [False, True] * 4
    with pytest.raises(SpecError, match="layer_switch"):
        result("cohere2", sliding_window_pattern=4, layer_switch=3)


def test_exaone4_full_layers_have_no_positions_where_there_is_a_window() -> None:
    assert rotates("exaone4") == [True, True, True, False] * 2
    assert rotates("exaone4", sliding_window_pattern="LG") == [True, False] * 4
    assert rotates("exaone4", sliding_window=None, layer_types=[FULL] * LAYERS) == [True] * LAYERS
    assert windows("exaone4", sliding_window=None) == [None] * LAYERS


def test_olmo3_scales_the_angles_of_its_full_layers_only() -> None:
    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "attention_factor": 1.2}
    found = mixers("olmo3", rope_scaling=yarn, rope_theta=5e5)
    assert [mixer.support.window for mixer in found] == [4096, 4096, 4096, None] * 2
    assert [mixer.rotation.scaling is not None for mixer in found] == [False, False, False, True] * 2
    assert [mixer.rotation.attention_factor for mixer in found[:4]] == [1, 1, 1, 1.2]
    nested = {WINDOW: {"rope_theta": 10.0, "rope_type": "default"}, FULL: {"rope_theta": 20.0, "rope_type": "default"}}
    assert [mixer.rotation.theta for mixer in mixers("olmo3", rope_parameters=nested)[2:4]] == [10, 20]


def test_cwm_first_of_four_layers_is_full_and_its_angles_are_scaled_by_default() -> None:
    found = mixers("cwm")
    assert [mixer.support.window for mixer in found] == [None, 8192, 8192, 8192] * 2
    assert all(mixer.rotation.scaling is not None and mixer.rotation.scaling.factor == 16 for mixer in found)


def test_apertus_angles_are_scaled_by_default() -> None:
    scaling = mixers("apertus")[0].rotation.scaling
    assert scaling is not None
    assert (scaling.kind, scaling.factor, scaling.original_length) == ("llama3", 8, 8192)
    assert mixers("apertus", rope_parameters={"rope_theta": 1e4, "rope_type": "default"})[0].rotation.scaling is None


def test_smollm3_list_says_which_layers_do_rotate() -> None:
    assert rotates("smollm3") == [True, True, True, False] * 2
    assert rotates("smollm3", no_rope_layers=[0, 1] * 4) == [False, True] * 4
    assert rotates("smollm3", no_rope_layer_interval=2) == [True, False] * 4
    assert windows("smollm3", use_sliding_window=True, sliding_window=64) == [None, None, None, 64] * 2


def test_dots1_window_starts_at_max_window_layers_without_a_switch() -> None:
    assert windows("dots1") == [None] * LAYERS
    assert windows("dots1", max_window_layers=5) == [None] * 5 + [4096] * 3


@pytest.mark.parametrize(
    ("model_type", "keys", "scale"),
    [
        ("granite", {}, 1.0),
        ("granite", {"attention_multiplier": 0.0078125}, 0.0078125),
        ("granitemoe", {"attention_multiplier": 0.015625}, 0.015625),
        ("granitemoeshared", {"attention_multiplier": 0.015625}, 0.015625),
        ("hyperclovax", {}, 128**-0.5),
        ("hyperclovax", {"attention_multiplier": None}, 128**-0.5),
        ("hyperclovax", {"attention_multiplier": 0.25}, 0.25),
    ],
)
def test_attention_multiplier_is_the_scale(model_type: str, keys: dict[str, Any], scale: float) -> None:
    assert mixers(model_type, **keys)[0].base == pytest.approx(scale)


def test_granite_multipliers_around_the_mixer_leave_it() -> None:
    keys = {"embedding_multiplier": 12.0, "residual_multiplier": 0.22, "logits_scaling": 8.0}
    assert mixers("granite", **keys) == mixers("granite")
    assert result("granite", **keys).unknown == ()


@pytest.mark.parametrize("model_type", ["olmo", "olmoe"])
def test_clamped_projections_are_said_to_be_left_out(model_type: str) -> None:
    assert "8" in result(model_type, clip_qkv=8.0).approximated["clip_qkv"]
    assert result(model_type, clip_qkv=None).approximated == {}


def test_dbrx_reads_its_nested_keys_one_by_one() -> None:
    nested = {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 500000}
    file = {"d_model": 6144, "n_heads": 48, "n_layers": 40, "max_seq_len": 32768, "attn_config": nested}
    found = import_config(parse(json.dumps({"model_type": "dbrx", **file}), "config.json"))
    mixer = found.candidate.blocks[0].mixers[0]
    assert (mixer.heads.num_heads, mixer.heads.groups, mixer.heads.state_dim) == (48, 8, 128)
    assert mixer.rotation.theta == 500000
    assert list(found.approximated) == ["attn_config.clip_qkv"]
    with pytest.raises(SpecError, match=r"attn_config\.softmax_scale"):
        import_config(
            parse(json.dumps({"model_type": "dbrx", **file, "attn_config": {"softmax_scale": 2.0}}), "c.json")
        )
    with pytest.raises(SpecError, match="rope_theta"):
        import_config(parse(json.dumps({"model_type": "dbrx", **file, "rope_theta": 1e4}), "c.json"))


def test_jetmoe_heads_are_keys_times_experts_per_token() -> None:
    heads = mixers("jetmoe", num_key_value_heads=16, num_experts_per_tok=3)[0].heads
    assert (heads.num_heads, heads.groups, heads.state_dim) == (48, 16, 128)


@pytest.mark.parametrize("word", ["longrope", "su"])
def test_phi3_longrope_takes_its_length_from_outside(word: str) -> None:
    factors = [1.0 + pair / 64 for pair in range(48)]
    scaling = {"type": word, "short_factor": factors, "long_factor": [2 * factor for factor in factors]}
    keys = {"rope_scaling": scaling, "max_position_embeddings": 131072, "original_max_position_embeddings": 4096}
    rotation = mixers("phi3", **keys)[0].rotation
    assert rotation.scaling is not None
    assert (rotation.scaling.kind, rotation.scaling.original_length) == ("longrope", 4096)
    assert rotation.attention_factor == pytest.approx(math.sqrt(1 + math.log(32) / math.log(4096)))
    assert rotation.angles(96)[1] == pytest.approx(10000 ** (-2 / 96) / factors[1])
    inner = scaling | {"original_max_position_embeddings": 8192}
    with pytest.raises(SpecError, match="original_max_position_embeddings"):
        result("phi3", **{**keys, "rope_scaling": inner})


def test_ministral3_defaults_to_yarn_and_queries_grow_with_the_position() -> None:
    rotation = mixers("ministral3")[0].rotation
    assert rotation.scaling is not None
    assert (rotation.scaling.kind, rotation.scaling.factor, rotation.scaling.original_length) == ("yarn", 16, 16384)
    assert rotation.attention_factor == 1
    keys = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 16}
    growing = result("ministral3", rope_parameters=keys | {"llama_4_scaling_beta": 0.2})
    assert growing.candidate.blocks[0].mixers[0].scaling.query_schedule == "log"
    assert "0.2" in growing.approximated["rope_parameters.llama_4_scaling_beta"]
    assert mixers("ministral3", rope_parameters=keys)[0].scaling.query_schedule == "none"


def test_hunyuan_alpha_changes_the_base_once_and_for_all() -> None:
    scaling = {"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0}
    rotation = mixers("hunyuan_v1_dense", rope_scaling=scaling, attention_head_dim=128)[0].rotation
    assert rotation.scaling is None
    assert rotation.theta == pytest.approx(10000 * 1000 ** (128 / 126))
    with pytest.raises(SpecError, match="attention_head_dim"):
        result("hunyuan_v1_dense", head_dim=64, attention_head_dim=128)


def test_bitnet_norms_its_output_over_all_heads() -> None:
    assert mixers("bitnet")[0].io.output_norm == "full_rms"


@pytest.mark.parametrize(
    ("model_type", "kind"), [("arcee", "mlp"), ("apertus", "mlp"), ("nanochat", "mlp"), ("llama", "swiglu")]
)
def test_channel_mixer_is_gated_or_not(model_type: str, kind: str) -> None:
    assert result(model_type).candidate.blocks[0].channel_mixer.kind == kind


@pytest.mark.parametrize(
    ("model_type", "kind"), [("olmo", "layer"), ("phimoe", "layer"), ("starcoder2", "layer"), ("phi3", "rms")]
)
def test_norm_around_the_sub_layers(model_type: str, kind: str) -> None:
    assert result(model_type).candidate.blocks[0].norm.kind == kind


def test_exaone_counts_its_layers_in_num_layers() -> None:
    data = {"model_type": "exaone", "num_layers": 5, "rope_scaling": LLAMA3}
    found = import_config(parse(json.dumps(data), "config.json"))
    assert found.candidate.num_layers == 5


def test_internlm_keeps_its_rotation_in_an_object() -> None:
    scaling = mixers("internlm", rotary={"base": 1e5, "type": "dynamic"}, max_position_embeddings=4096)[0].rotation
    assert (scaling.theta, scaling.scaling and scaling.scaling.kind) == (1e5, "dynamic")
    with pytest.raises(SpecError, match="spiral"):
        result("internlm", rotary={"type": "spiral"})


def test_baichuan_13b_has_alibi_and_no_rotation() -> None:
    (small,) = {
        mixer.rotation.source for mixer in mixers("baichuan", max_position_embeddings=4096, model_max_length=4096)
    }
    assert small == "constant"
    large = mixers("baichuan", hidden_size=5120, num_attention_heads=40, model_max_length=4096)[0]
    assert (large.rotation.source, large.shear.source) == ("none", "constant")
    slopes = large.shear.head_slopes(40)
    assert slopes[:2] == pytest.approx([2**-0.25, 2**-0.5])
    assert slopes[32] == pytest.approx(2**-0.125)


def test_chatglm_groups_keys_and_multiplies_its_base() -> None:
    keys = {"num_layers": LAYERS, "multi_query_attention": True, "multi_query_group_num": 2, "rope_ratio": 500}
    mixer = mixers("chatglm", **keys)[0]
    assert (mixer.heads.groups, mixer.rotation.theta, mixer.rotation.fraction) == (2, 5e6, 0.5)
    assert mixers("chatglm", num_layers=LAYERS, multi_query_group_num=2)[0].heads.groups == 32


def test_qwen_halves_its_channel_mixer_and_stretches_beyond_its_length() -> None:
    found = result("qwen", hidden_size=4096, intermediate_size=22016, seq_length=2048)
    assert found.candidate.blocks[0].channel_mixer.ratio == pytest.approx(11008 / 4096)
    assert "2048" in found.approximated["use_logn_attn"]
    scaling = found.candidate.blocks[0].mixers[0].rotation.scaling
    assert scaling is not None
    assert (scaling.kind, scaling.original_length) == ("dynamic", 2048)
    assert mixers("qwen", use_dynamic_ntk=False)[0].rotation.scaling is None


def test_minicpm_sparse_blocks_are_outside_the_grammar() -> None:
    found = result("minicpm", sparse_config={"topk": 64, "block_size": 32, "dense_len": 8192, "kernel_size": 32})
    mixer = found.candidate.blocks[0].mixer
    assert isinstance(mixer, Outside)
    assert (mixer.outside, found.verdict) == ("sparse_support", "unsupported")
    assert "topk=64" in mixer.reason
    assert mixer.nearest == mixers("minicpm", sparse_config=None)[0]
    assert result("minicpm", scale_depth=1.4, scale_emb=12, dim_model_base=256).unknown == ()


def test_afmoe_gates_its_output_and_rotates_in_windowed_layers_only() -> None:
    found = mixers("afmoe", global_attn_every_n_layers=2)
    assert {mixer.io.gate for mixer in found} == {"sigmoid"}
    assert [mixer.support.window for mixer in found] == [1024, None] * 4
    assert rotates("afmoe", global_attn_every_n_layers=2) == [True, False] * 4


def test_flint_layers_without_a_window_and_without_positions() -> None:
    expected = [False, False, True, True, True, False, True, False]  # 0, 1, every fourth from 1, the last
    assert rotates("flint") == expected
    assert windows("flint") == [513 if on else None for on in expected]
    assert {mixer.normalization.kind for mixer in mixers("flint")} == {"sum_with_sink"}


def test_granite_swa_has_a_base_per_layer_and_none_where_it_is_zero() -> None:
    found = mixers("granite_swa", layer_rope_theta=[0, 1e4] * 4, attention_multiplier=0.25)
    assert [mixer.rotation.source for mixer in found] == ["none", "constant"] * 4
    assert [mixer.support.window for mixer in found] == [None, 128, 128, 128] * 2
    assert {(mixer.normalization.kind, mixer.base) for mixer in found} == {("sum_with_sink", 0.25)}
    with pytest.raises(SpecError, match="layer_rope_theta"):
        result("granite_swa", layer_rope_theta=[0, 1e4])


def test_cohere2_moe_dense_layers_in_front_rotate_without_a_window() -> None:
    assert windows("cohere2_moe", first_k_dense_replace=2) == [None, None, 4096, 4096, 4096, None, 4096, 4096]
    assert rotates("cohere2_moe", first_k_dense_replace=2) == [True] * 5 + [False, True, True]
    other = {"first_k_dense_replace": 2, "prefix_dense_sliding_window_pattern": 2}
    assert rotates("cohere2_moe", **other) == [True, False, True, True, True, False, True, True]


def test_qwen2_vl_keys_stand_beside_the_others_or_in_an_object() -> None:
    text: dict[str, Any] = {
        "hidden_size": 1536,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "num_hidden_layers": 28,
    }
    text["rope_scaling"] = {"type": "mrope", "mrope_section": [16, 24, 24]}
    vision = {"model_type": "qwen2_vl", "vision_config": {"depth": 32}}
    flat, nested = (
        import_config(parse(json.dumps(data), "config.json"))
        for data in (vision | text, vision | {"text_config": text | {"model_type": "qwen2_vl_text"}})
    )
    assert flat.candidate.blocks == nested.candidate.blocks
    assert flat.candidate.blocks[0].mixers[0].heads.groups == 2
    assert (flat.unknown, nested.unknown) == ((), ())


RELEASED: dict[
    str, dict[str, Any]
] = {  # keys that released files of the type hold beside those of the class, as far as known
    "baichuan": {"tokenizer_class": "BaichuanTokenizer", "z_loss_weight": 0, "model_max_length": 4096},
    "chatglm": {"add_qkv_bias": True, "apply_query_key_layer_scaling": True, "original_rope": True, "rmsnorm": True},
    "cohere2": {"use_parallel_block": True, "use_gated_activation": True, "rotary_pct": 1.0},
    "ernie4_5_moe": {"moe_k": 6, "moe_gate": "topk", "moe_layer_interval": 1, "moe_capacity": [64, 64, 64]},
    "glm4_moe": {"head_dim": 128, "n_routed_experts": 128, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1},
    "hunyuan_v1_dense": {
        "position_embedding_xdrope": False,
        "use_cla": False,
        "cla_share_factor": 2,
        "dense_list": [1],
    },
    "hunyuan_v1_moe": {"moe_topk": [8], "use_mixed_mlp_moe": True, "q_lora_rank": None, "kv_lora_rank": None},
    "jetmoe": {"moe_num_experts": 8, "moe_top_k": 2, "glu": True, "length": 4096, "moe_type": "moa"},
    "llama": {"pretraining_tp": 1, "rope_scaling": None, "sliding_window": 4096, "use_sliding_window": False},
    "minicpm": {"scale_emb": 12, "dim_model_base": 256, "scale_depth": 1.4},
    "minimax_m2": {"attn_type_list": [1] * LAYERS, "use_mtp": True, "num_mtp_modules": 3, "qk_norm_type": "per_layer"},
    "nanochat": {"final_logit_softcapping": 15.0},
    "phi3": {"full_attn_mod": 1, "interpolate_factor": 1, "lm_head_bias": False, "attention_bias": False},
    "phimoe": {"input_jitter_noise": 0.01, "lm_head_bias": True, "original_max_position_embeddings": 4096},
    "qwen": {
        "kv_channels": 128,
        "onnx_safe": None,
        "softmax_in_fp32": False,
        "no_bias": True,
        "scale_attn_weights": True,
    },
    "seed_oss": {"attention_out_bias": False, "residual_dropout": 0.1},
    "starcoder2": {"scale_attn_weights": True, "attention_softmax_in_fp32": True, "norm_type": "layer_norm"},
}


@pytest.mark.parametrize("model_type", RELEASED)
def test_keys_of_released_files_are_understood(model_type: str) -> None:
    assert result(model_type, **RELEASED[model_type]).unknown == ()
