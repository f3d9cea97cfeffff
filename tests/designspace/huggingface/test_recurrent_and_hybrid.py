"""Files of recurrent models and of their hybrids with attention: one test for each quirk of a model_type.

Expected values come from the model classes of transformers 5.24 and of the repositories that the docstrings of the
units name, or are written out as formulas; those of whole files stand in tests/configs/truth.json.
"""

import json
import math
from typing import Any

import pytest

from checkers.check import check
from designspace.candidate import Block, Candidate
from designspace.cost import cost
from designspace.decay import schedule
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec
from designspace.outside import Outside


def imported(model_type: str | None = None, **keys: Any) -> Imported:
    data = {"model_type": model_type, **keys} if model_type else keys
    return import_config(parse(json.dumps(data), "config.json", special_numbers=True))


def layers(candidate: Candidate) -> list[Block]:
    return [block for block in candidate.blocks for _ in range(block.repeat)]


def mixers(model_type: str | None = None, **keys: Any) -> list[MixerSpec]:
    return [mixer for block in layers(imported(model_type, **keys).candidate) for mixer in block.mixers]


def attention_layers(model_type: str, **keys: Any) -> list[int]:
    blocks = layers(imported(model_type, **keys).candidate)
    return [index for index, block in enumerate(blocks) if any(m.readout.kind == "exponential" for m in block.mixers)]


def fails(key: str, model_type: str | None = None, **keys: Any) -> None:
    with pytest.raises(SpecError, match=key):
        imported(model_type, **keys)


# Mamba and Mamba-2


def test_mamba_width_is_that_of_the_file_before_expand() -> None:
    assert mixers("falcon_mamba", hidden_size=4096, expand=16, intermediate_size=8192)[0].heads.num_heads == 8192
    assert mixers("mamba", hidden_size=512, expand=3)[0].heads.num_heads == 1536


def test_early_files_of_mamba_repeat_the_names_of_the_library() -> None:
    keys: dict[str, Any] = {"d_model": 768, "hidden_size": 768, "intermediate_size": 1536, "ssm_cfg": {}}
    assert mixers("mamba", d_inner=1536, **keys)[0].heads.num_heads == 1536
    fails("d_inner", "mamba", d_inner=1024, **keys)


def test_two_names_of_the_depth_must_agree() -> None:
    assert imported("mamba", n_layer=3, num_hidden_layers=3).candidate.num_layers == 3
    fails("n_layer", "mamba", n_layer=3, num_hidden_layers=4)


def test_decay_of_mamba_starts_at_the_corners_of_rate_and_step() -> None:
    decay = mixers("mamba", state_size=8, time_step_min=0.01, time_step_max=0.2)[0].decay
    assert decay.initial == pytest.approx((math.exp(-8 * 0.2), math.exp(-0.01)))
    fails("time_step_min", "mamba", time_step_min=0.5, time_step_max=0.1)


def test_falcon_mamba_norms_have_no_weight_and_the_eps_of_the_file() -> None:
    features = mixers("falcon_mamba", mixer_rms_eps=1e-4)[0].features
    assert (features.norm, features.eps, features.eps_kind) == ("rms", 1e-4, "mean")


def test_mamba2_heads_must_fill_the_inner_width() -> None:
    heads = mixers("mamba2", hidden_size=256, head_dim=32, state_size=16, n_groups=2)[0].heads
    assert (heads.num_heads, heads.head_dim, heads.state_dim, heads.groups) == (16, 32, 16, 2)
    fails("num_heads", "mamba2", hidden_size=256, head_dim=32, num_heads=8)


@pytest.mark.parametrize("bounds", [[0.0, math.inf], [0.0, {"__float__": "Infinity"}], None])
def test_a_clamp_that_clamps_nothing_is_exact(bounds: object) -> None:
    assert imported("mamba2", time_step_limit=bounds).approximated == {}


def test_a_clamp_of_the_step_is_reported_as_left_out() -> None:
    assert "0.01" in imported("mamba2", time_step_limit=[0.01, math.inf]).approximated["time_step_limit"]
    fails("time_step_limit", "mamba2", time_step_limit=[1.0])


def test_files_of_fla_have_defaults_of_their_own() -> None:
    ours, theirs = mixers("mamba2", layer_norm_epsilon=1e-5), mixers("mamba2", norm_eps=1e-5)
    assert (ours[0].heads.groups, len(ours)) == (8, 64)
    assert (theirs[0].heads.groups, len(theirs)) == (1, 48)
    assert mixers("mamba2", norm_eps=1e-5, rmsnorm=False)[0].io.output_norm == "none"


@pytest.mark.parametrize(
    ("model_type", "key"),
    [
        ("mamba", "hidden_act"),
        ("falcon_mamba", "hidden_act"),
        ("mamba2", "hidden_act"),
        ("bamba", "hidden_act"),
        ("jamba", "hidden_act"),
        ("minimax", "hidden_act"),
        ("qwen3_next", "hidden_act"),
        ("nemotron_h", "mamba_hidden_act"),
        ("zamba", "hidden_mamba_act"),
    ],
)
def test_an_activation_of_keys_other_than_silu_is_refused(model_type: str, key: str) -> None:
    fails(key, model_type, **{key: "relu"})
    assert imported(model_type, **{key: "silu"}).read[key] == "silu"


# Files of state-spaces/mamba


def test_state_spaces_layers_have_the_defaults_of_the_library() -> None:
    first, second = (mixers(d_model=256, n_layer=2, ssm_cfg=cfg)[0].heads for cfg in ({}, {"layer": "Mamba2"}))
    assert (first.layout, first.num_heads, first.state_dim) == ("channel", 512, 16)
    assert (second.num_heads, second.head_dim, second.state_dim, second.groups) == (8, 64, 128, 1)


def test_state_spaces_arguments_are_read() -> None:
    cfg = {"layer": "Mamba2", "d_state": 32, "headdim": 32, "expand": 4, "ngroups": 2, "d_conv": 2, "rmsnorm": False}
    mixer = mixers(d_model=256, n_layer=1, ssm_cfg=cfg)[0]
    heads = mixer.heads
    assert (heads.num_heads, heads.head_dim, heads.state_dim, heads.groups) == (32, 32, 32, 2)
    assert (mixer.io.short_conv.width, mixer.io.output_norm) == (2, "none")
    fails("layer", d_model=256, n_layer=1, ssm_cfg={"layer": "Mamba9"})


def test_state_spaces_attention_has_a_convolution_and_a_partial_rotation() -> None:
    cfg = {"causal": True, "d_conv": 4, "head_dim": 128, "num_heads": 30, "rotary_emb_dim": 64}
    keys: dict[str, Any] = {"d_model": 2560, "n_layer": 4, "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [2]}
    mixer = mixers(**keys, attn_cfg=cfg)[2]
    assert (mixer.heads.num_heads, mixer.heads.groups, mixer.heads.state_dim) == (30, 30, 128)
    assert (mixer.rotation.source, mixer.rotation.fraction, mixer.io.short_conv.width) == ("constant", 0.5, 4)
    assert mixers(**keys, attn_cfg={**cfg, "num_heads_kv": 10})[2].heads.groups == 10
    assert imported(**keys, attn_cfg={**cfg, "causal": False}).verdict == "not_applicable"


def test_state_spaces_vocabulary_is_padded_and_layers_may_have_a_channel_mixer() -> None:
    candidate = imported(
        d_model=256, n_layer=1, ssm_cfg={}, vocab_size=50277, pad_vocab_size_multiple=16, d_intermediate=512
    ).candidate
    assert candidate.model.vocab_size == 50288
    assert (candidate.blocks[0].channel_mixer.kind, candidate.blocks[0].channel_mixer.ratio) == ("swiglu", 2.0)


# Hybrids of Mamba


def test_jamba_layer_types_must_agree_with_period_and_offset() -> None:
    assert attention_layers("jamba", num_hidden_layers=12, attn_layer_period=4, attn_layer_offset=1) == [1, 5, 9]
    fails("layer_types", "jamba", num_hidden_layers=2, layer_types=["attention", "mamba"])
    fails("attn_layer_offset", "jamba", attn_layer_period=4, attn_layer_offset=4)


def test_jamba_norms_are_weighted() -> None:
    assert mixers("jamba")[0].features.norm == "rms_weighted"
    assert mixers("jamba", mamba_inner_layernorms=False)[0].features.norm == "none"


def test_bamba_rotates_half_of_a_key_where_the_indices_say() -> None:
    result = mixers("bamba", num_hidden_layers=4, attn_layer_indices=[1, 3])
    assert [mixer.readout.kind for mixer in result] == ["identity", "exponential"] * 2
    assert result[1].rotation.fraction == 0.5
    fails("attn_rotary_emb", "bamba", attn_rotary_emb=128)
    fails("attn_layer_indices", "bamba", num_hidden_layers=4, attn_layer_indices=[4])


def test_mamba_d_head_is_automatic_or_fits() -> None:
    assert mixers("bamba", mamba_n_heads=64, mamba_d_head="auto")[0].heads.head_dim == 128
    fails("mamba_d_head", "bamba", mamba_n_heads=64, mamba_d_head=64)


def test_granite_multiplier_is_the_scale_and_old_words_name_the_layers() -> None:
    keys: dict[str, Any] = {
        "num_hidden_layers": 2,
        "layer_types": ["mamba", "attention"],
        "attention_multiplier": 0.0078125,
        "rope_theta": 10000,
    }
    mixer = mixers("granitemoehybrid", position_embedding_type="nope", **keys)[1]
    assert (mixer.base, mixer.rotation.source) == (0.0078125, "none")
    assert mixers("granitemoehybrid", position_embedding_type="rope", **keys)[1].rotation.source == "constant"
    fails("position_embedding_type", "granitemoehybrid", position_embedding_type="alibi", **keys)


def test_granite_is_unscaled_by_default() -> None:
    assert mixers("granitemoehybrid", num_hidden_layers=1, layer_types=["full_attention"])[0].base == 1.0


def test_falcon_h1_inner_width_is_mamba_d_ssm_and_multipliers_are_reported() -> None:
    mamba, attention = (
        imported("falcon_h1", mamba_d_ssm=2048, mamba_n_heads=32, key_multiplier=0.25).candidate.blocks[0].mixers
    )
    assert (mamba.heads.num_heads, mamba.heads.head_dim) == (32, 64)
    assert attention.base == pytest.approx(0.25 * 128**-0.5)
    assert mixers("falcon_h1", mamba_d_ssm=None, hidden_size=1024, mamba_n_heads=32)[0].heads.head_dim == 64
    reported = imported("falcon_h1", ssm_multipliers=[1, 1, 0.5, 1, 1], attention_in_multiplier=0.5).approximated
    assert set(reported) == {"ssm_multipliers", "attention_in_multiplier"}


def test_recurrent_gemma_clips_the_gradient_of_the_root() -> None:
    report = check(imported("recurrent_gemma").candidate)
    assert {one.code for one in report.findings if one.suppressed is not None} == {"CD803"}
    assert "CD803" not in {one.code for one in report.active}


def test_falcon_h1_norm_is_optional() -> None:
    assert mixers("falcon_h1")[0].io.output_norm == "none"
    io = mixers("falcon_h1", mamba_rms_norm=True, mamba_norm_before_gate=False)[0].io
    assert (io.output_norm, io.order) == ("group_rms", "gate_then_norm")


def test_nemotron_pattern_names_every_sub_layer() -> None:
    blocks = layers(imported("nemotron_h", hybrid_override_pattern="M-*E", num_hidden_layers=4).candidate)
    assert [len(block.mixers) for block in blocks] == [1, 0, 1, 0]
    assert [block.channel_mixer.kind for block in blocks] == ["none", "mlp", "none", "mlp"]
    assert blocks[2].mixers[0].rotation.source == "none"
    fails("hybrid_override_pattern", "nemotron_h", hybrid_override_pattern="MX")
    fails("num_hidden_layers", "nemotron_h", hybrid_override_pattern="M-", num_hidden_layers=3)
    fails("hybrid_override_pattern", "nemotron_h", hybrid_override_pattern="M-", layers_block_type=["mlp", "mamba"])


def test_nemotron_width_ignores_expand_and_the_step_has_a_floor() -> None:
    result = imported("nemotron_h", mamba_num_heads=16, mamba_head_dim=32, n_groups=4, expand=7, time_step_min=0.01)
    heads = result.candidate.blocks[0].mixers[0].heads
    assert (heads.num_heads, heads.head_dim, heads.groups) == (16, 32, 4)
    assert "0.01" in result.approximated["time_step_min"]


def test_zamba_hybrid_layers_are_the_shared_attention_and_then_mamba() -> None:
    result = mixers("zamba", num_hidden_layers=9)
    kinds = "".join("*" if mixer.readout.kind == "exponential" else "M" for mixer in result)
    assert kinds == "MM*MMMMM*MM"  # layers 2 and 3 + 4 are hybrid
    attention = result[2]
    assert attention.heads.state_dim == 464
    assert attention.base == pytest.approx(232**-0.5)
    assert result[0].heads.groups == 2


def test_zamba_list_of_layers_comes_before_the_period() -> None:
    keys: dict[str, Any] = {"num_hidden_layers": 2, "attn_layer_period": 6}
    assert attention_layers("zamba", layers_block_type=["hybrid", "mamba"], **keys) == [0]
    fails("layers_block_type", "zamba", layers_block_type=["hybrid", "attention"], **keys)


def test_zamba2_of_the_hub_gives_a_head_width_and_a_state_size() -> None:
    heads = mixers("zamba2", mamba_headdim=64, state_size=32, mamba_ngroups=2, num_hidden_layers=1)[0].heads
    assert (heads.num_heads, heads.head_dim, heads.state_dim, heads.groups) == (80, 64, 32, 2)


def test_zamba2_rotates_only_with_use_mem_rope_and_has_a_floor() -> None:
    keys: dict[str, Any] = {"num_hidden_layers": 3, "hybrid_layer_ids": [1], "n_mamba_heads": 80}
    result = mixers("zamba2", **keys)
    assert [mixer.readout.kind for mixer in result] == ["identity", "exponential", "identity", "identity"]
    assert result[1].rotation.source == "none"
    assert result[1].base == pytest.approx(80**-0.5)
    assert (result[0].heads.num_heads, result[0].heads.head_dim) == (80, 64)
    assert mixers("zamba2", use_mem_rope=True, **keys)[1].rotation.source == "constant"
    assert "time_step_min" in imported("zamba2", **keys).approximated
    fails("hybrid_layer_ids", "zamba2", layers_block_type=["mamba", "mamba", "hybrid"], **keys)


# Channel-wise and matrix recurrences


def test_recurrent_gemma_repeats_its_blocks() -> None:
    result = mixers("recurrent_gemma", num_hidden_layers=5, num_key_value_heads=1, lru_width=512)
    assert [mixer.decay.map for mixer in result].count("rglru") == 4
    attention = result[2]
    assert (attention.support.window, attention.rotation.fraction, attention.heads.groups) == (2048, 0.5, 1)
    assert result[0].heads.num_heads == 512
    assert attention_layers("recurrent_gemma", num_hidden_layers=4, block_types=["attention", "recurrent"]) == [0, 2]
    fails("block_types", "recurrent_gemma", block_types=["conv"])


def test_recurrent_gemma_of_the_hub_spells_its_blocks_with_an_underscore() -> None:
    keys: dict[str, Any] = {"num_hidden_layers": 3, "head_dim": 256, "partial_rotary_factor": 0.5}
    assert attention_layers("recurrent_gemma", _block_types=["attention", "recurrent"], **keys) == [0, 2]


def test_recurrent_gemma_channel_mixer_has_half_the_width() -> None:
    block = imported("recurrent_gemma", hidden_size=2560, intermediate_size=15360).candidate.blocks[0]
    assert block.channel_mixer.ratio == 3.0


def test_xlstm_widths_are_rounded_up_to_64() -> None:
    mixer = mixers("xlstm", embedding_dim=1000, num_blocks=2, num_heads=4)[0]
    assert (mixer.heads.state_dim, mixer.heads.head_dim) == (512 // 4, 1024 // 4)
    assert len(mixers("xlstm", embedding_dim=1000, num_blocks=2, num_heads=4)) == 2
    fails("num_blocks", "xlstm", num_blocks=2, num_hidden_layers=3)


def test_xlstm_caps_its_gates() -> None:
    assert mixers("xlstm", gate_soft_cap=7.0)[0].scaling.cap == 7.0
    fails("gate_soft_cap", "xlstm", gate_soft_cap=0)


def test_rwkv_has_one_head_per_channel() -> None:
    assert mixers("rwkv", hidden_size=512, attention_hidden_size=768)[0].heads.num_heads == 768


def test_rwkv5_and_6_count_heads_by_their_size_and_shift_one_input() -> None:
    for model_type, source in (("rwkv5", "learned"), ("rwkv6", "input")):
        candidate = imported(
            model_type,
            hidden_size=512,
            attention_hidden_size=512,
            num_attention_heads=64,
            head_size=32,
            num_hidden_layers=1,
        ).candidate
        mixer = candidate.blocks[0].mixers[0]
        assert (mixer.heads.num_heads, mixer.heads.state_dim, mixer.decay.source) == (16, 32, source)
        data = candidate.model_dump(mode="json")
        data["blocks"][0]["mixer"]["execution"]["dtype"]["state"] = data["target"]["dtype"] = "bfloat16"
        assert cost(Candidate.model_validate(data)).state_bytes == 2 * (16 * 32 * 32 + 512)


def test_rwkv5_divides_its_output_before_the_norm() -> None:
    assert mixers("rwkv5", head_size_divisor=4)[0].io.norm_eps == pytest.approx(16e-5)
    fails("head_size", "rwkv5", hidden_size=100)


# Delta rules


def test_qwen3_next_key_heads_serve_value_heads() -> None:
    heads = mixers("qwen3_next", linear_num_key_heads=4, linear_num_value_heads=8)[0].heads
    assert (heads.num_heads, heads.groups, heads.shared) == (8, 4, "qk")
    fails("linear_num_key_heads", "qwen3_next", linear_num_key_heads=5, linear_num_value_heads=8)


def test_qwen3_next_interval_counts_only_without_layer_types() -> None:
    assert attention_layers("qwen3_next", num_hidden_layers=6, full_attention_interval=3) == [2, 5]
    types = ["full_attention", "linear_attention"]
    assert attention_layers("qwen3_next", num_hidden_layers=2, full_attention_interval=2, layer_types=types) == [0]


def test_qwen3_5_reads_its_text_part() -> None:
    result = imported(
        "qwen3_5",
        vision_config={"depth": 2},
        text_config={
            "model_type": "qwen3_5_text",
            "num_hidden_layers": 4,
            "attn_output_gate": True,
            "mamba_ssm_dtype": "float32",
            "rope_parameters": {
                "mrope_interleaved": True,
                "mrope_section": [11, 11, 10],
                "partial_rotary_factor": 0.25,
                "rope_theta": 10000000,
                "rope_type": "default",
            },
        },
    )
    attention = layers(result.candidate)[3].mixers[0]
    assert (attention.rotation.theta, attention.rotation.fraction, attention.io.gate) == (1e7, 0.25, "sigmoid")
    assert (attention.heads.num_heads, attention.heads.groups, attention.heads.state_dim) == (16, 4, 256)


def test_qwen3_5_moe_channel_mixer_is_one_expert() -> None:
    assert imported("qwen3_5_moe_text").candidate.blocks[0].channel_mixer.ratio == 512 / 2048


def test_olmo_hybrid_doubles_beta_and_derives_its_widths() -> None:
    delta = mixers("olmo_hybrid", hidden_size=1024, num_attention_heads=8)[0]
    assert (delta.erase.gain, delta.heads.state_dim, delta.heads.head_dim) == ((0.0, 2.0), 96, 192)
    assert mixers("olmo_hybrid", linear_allow_neg_eigval=False)[0].erase.gain == (0.0, 1.0)


@pytest.mark.parametrize("parameters", [None, {"rope_theta": None, "rope_type": "default"}])
def test_olmo_hybrid_does_not_rotate_where_the_parameters_are_null(parameters: object) -> None:
    assert mixers("olmo_hybrid", rope_parameters=parameters)[3].rotation.source == "none"
    rotated = mixers("olmo_hybrid", rope_parameters={"rope_theta": 5e5})[3]
    assert (rotated.rotation.theta, rotated.features.norm_over) == (5e5, "all_heads")


def test_lara_mini_rotates_in_windowed_layers_only() -> None:
    result = mixers("lara_mini", num_hidden_layers=5)
    assert [mixer.support.window for mixer in result] == [None, 512, None, None, 512]
    assert [mixer.rotation.source for mixer in result] == ["none", "constant", "none", "none", "constant"]
    assert {mixer.features.norm for mixer in result} == {"l2", "rms_weighted"}


def test_kimi_linear_lists_count_from_one() -> None:
    config = {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 8, "head_dim": 32}
    assert attention_layers("kimi_linear", num_hidden_layers=4, linear_attn_config=config) == [3]
    assert attention_layers("kimi_linear", num_hidden_layers=9) == [4, 8]
    for key in ("kda_layers", "full_attn_layers"):  # one list is enough
        half = {name: value for name, value in config.items() if name != key}
        assert attention_layers("kimi_linear", num_hidden_layers=4, linear_attn_config=half) == [3]
    heads = mixers("kimi_linear", num_hidden_layers=4, linear_attn_config=config)[0].heads
    assert (heads.num_heads, heads.state_dim) == (8, 32)
    for full in ([3], [0], [5]):
        broken = {**config, "full_attn_layers": full}
        fails("full_attn_layers", "kimi_linear", num_hidden_layers=4, linear_attn_config=broken)


def test_kimi_linear_latent_attention_has_no_positions() -> None:
    mixer = mixers("kimi_linear", head_dim=72, rope_theta=10000.0, mla_use_nope=True)[4]
    assert (mixer.rotation.source, mixer.heads.state_dim, mixer.heads.head_dim) == ("none", 192, 128)
    assert (mixer.heads.latent_dim, mixer.heads.shared_key_dim) == (512, 64)
    fails("mla_use_nope", "kimi_linear", mla_use_nope=False)


def test_kimi_linear_of_k3_bounds_its_decay_and_gates_its_output() -> None:
    config = {"gate_lower_bound": -4.0, "use_full_rank_gate": True, "num_heads": 8, "head_dim": 32}
    result = imported(
        "kimi_k3",
        text_config={
            "model_type": "kimi_linear",
            "linear_attn_config": config,
            "mla_use_output_gate": True,
            "attn_res_block_size": 12,
            "activation_situ_beta": 4.0,
        },
    )
    blocks = layers(result.candidate)
    assert blocks[0].mixers[0].decay.range[0] == pytest.approx(math.exp(-4))
    assert blocks[4].mixers[0].io.gate == "sigmoid"
    assert list(result.approximated) == ["text_config.attn_res_block_size"]


def test_bailing_hybrid_bounds_the_decay_from_below() -> None:
    decay = mixers("bailing_hybrid", kda_lower_bound=-3.0)[0].decay
    assert decay.map == "exp_lb_sigmoid"
    assert decay.range[0] == pytest.approx(math.exp(-3))
    assert mixers("bailing_hybrid", kda_safe_gate=False)[0].decay.map == "exp_softplus"
    fails("kda_lower_bound", "bailing_hybrid", kda_lower_bound=1.0)


def test_bailing_hybrid_groups_its_layers_and_rotates_neighbours() -> None:
    assert attention_layers("bailing_hybrid", num_hidden_layers=8, layer_group_size=4) == [3, 7]
    mixer = mixers("bailing_hybrid")[5]
    assert (mixer.rotation.pairing, mixer.rotation.fraction, mixer.rotation.theta) == ("interleaved", 64 / 192, 6e6)
    fails("rope_theta", "bailing_hybrid", rope_theta=1e4, rope_parameters={"rope_theta": 1e5})


def test_bailing_hybrid_of_ling_2_5_has_another_mixer() -> None:
    fails("architectures", "bailing_hybrid", architectures=["BailingMoeV2_5ForCausalLM"])
    fails("granularity", "bailing_hybrid", gated_attention_proj_granularity_type="none")
    assert mixers("bailing_hybrid", rope_interleave=False)[5].rotation.pairing == "half"


def test_bailing_hybrid_head_dim_has_two_meanings() -> None:
    assert mixers("bailing_hybrid", head_dim=96, v_head_dim=96)[0].heads.state_dim == 96
    assert mixers("bailing_hybrid", head_dim=64, linear_head_dim=128)[0].heads.state_dim == 128


@pytest.mark.parametrize(
    ("model_type", "keys", "number"),
    [
        ("glm5_next_text", {"index_topk": 1024}, "1024"),
        ("qwen4_exp_text", {"indexer_budget": 4096, "indexer_compress_ratio": 64}, "4096"),
    ],
)
def test_indexed_layers_lie_outside_and_the_others_are_kept(model_type: str, keys: dict[str, Any], number: str) -> None:
    result = imported(model_type, num_hidden_layers=4, **keys)
    blocks = layers(result.candidate)
    outside = blocks[3].mixer
    assert result.verdict == "unsupported"
    assert isinstance(outside, Outside)
    assert number in outside.reason
    assert outside.nearest is not None
    assert [block.mixers[0].erase.direction for block in blocks[:3]] == ["key"] * 3


# Lightning attention and short convolutions


@pytest.mark.parametrize("layer", [0, 3, 6])
def test_minimax_decay_of_each_head_falls_with_depth(layer: int) -> None:
    keys: dict[str, Any] = {"num_hidden_layers": 8, "num_attention_heads": 16, "attn_type_list": [0] * 7 + [1]}
    decay = mixers("minimax", **keys)[layer].decay
    factor = 1 - layer / (7 + 1e-5) + 1e-5
    expected = [math.exp(-(2 ** (-8 * head / 16)) * factor) for head in range(1, 17)]
    assert schedule(decay, 16) == pytest.approx(expected, rel=1e-12)


def test_minimax_types_of_layers_and_rotated_channels() -> None:
    keys: dict[str, Any] = {"num_hidden_layers": 4, "rotary_dim": 64}
    assert attention_layers("minimax", **keys) == [0, 2]
    assert attention_layers("minimax", attn_type_list=[0, 0, 0, 1], **keys) == [3]
    assert mixers("minimax", attn_type_list=[0, 0, 0, 1], **keys)[3].rotation.fraction == 0.5
    types = ["linear_attention", "full_attention"]
    assert attention_layers("minimax", num_hidden_layers=2, layer_types=types) == [1]
    fails("attn_type_list", "minimax", attn_type_list=[0, 0, 0, 2], **keys)
    fails("layer_types", "minimax", num_hidden_layers=2, layer_types=types, attn_type_list=[1, 0])


def test_minimax_residual_factors_under_both_names() -> None:
    keys: dict[str, Any] = {"num_hidden_layers": 2, "attn_type_list": [0, 1]}
    blocks = imported("minimax", linear_attn_alpha_factor=3.0, linear_attn_beta_factor=2.0, **keys).candidate.blocks
    assert [block.skip.weight for block in blocks] == [1.5, 1.0]
    assert {block.norm.placement for block in blocks} == {"post"}
    theirs = imported("minimax_m1", layernorm_full_attention_alpha=3.5, postnorm=True, **keys).candidate.blocks
    assert [block.skip.weight for block in theirs] == [1.0, 3.5]
    assert imported("minimax_text_01", **keys).candidate.blocks[0].norm.placement == "pre"


def test_lfm2_index_list_and_layer_types() -> None:
    assert attention_layers("lfm2", num_hidden_layers=4, full_attn_idxs=[1, 3]) == [1, 3]
    assert attention_layers("lfm2", num_hidden_layers=2) == [0, 1]
    types = ["conv", "full_attention"]
    assert attention_layers("lfm2", num_hidden_layers=2, layer_types=types) == [1]
    fails("full_attn_idxs", "lfm2", num_hidden_layers=2, layer_types=types, full_attn_idxs=[0])
    assert attention_layers("lfm2_moe", num_hidden_layers=2, layer_types=types) == [1]


def test_lfm2_repeated_keys_must_agree() -> None:
    fails("num_heads", "lfm2", num_heads=16, num_attention_heads=32)
    fails("conv_dim", "lfm2", hidden_size=2048, conv_dim=1024)


def test_lfm2_convolution_keeps_one_token_less_than_its_kernel() -> None:
    candidate = imported(
        "lfm2", num_hidden_layers=1, full_attn_idxs=[], hidden_size=512, conv_L_cache=5, num_heads=None
    ).candidate
    assert candidate.blocks[0].mixers[0].lift.width == 5
    data = candidate.model_dump(mode="json")
    data["target"]["dtype"] = data["blocks"][0]["mixer"]["execution"]["dtype"]["state"] = "bfloat16"
    assert cost(Candidate.model_validate(data)).memory_bytes == 2 * 512 * 4


def test_lfm2_channel_mixer_is_adjusted() -> None:
    keys = {"hidden_size": 1024, "block_ff_dim": 6656}
    assert imported("lfm2", **keys).candidate.blocks[0].channel_mixer.ratio == 4608 / 1024
    plain = imported("lfm2", block_auto_adjust_ff_dim=False, **keys)
    assert plain.candidate.blocks[0].channel_mixer.ratio == 6.5


def test_lfm3_has_two_rotations_and_a_gate() -> None:
    result = mixers("lfm3", num_hidden_layers=5)
    assert [mixer.lift.kind for mixer in result] == ["shift", "shift", "none", "shift", "none"]
    full, windowed = result[2], result[4]
    assert (full.rotation.theta, full.rotation.fraction, full.support.window) == (1e6, 0.5, None)
    assert full.rotation.scaling is not None
    assert (windowed.rotation.theta, windowed.rotation.fraction, windowed.support.window) == (1e4, 1.0, 256)
    assert full.io.gate == "sigmoid"
    assert mixers("lfm3", num_hidden_layers=5, use_attention_gate=False)[2].io.gate == "none"
