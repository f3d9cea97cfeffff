"""Importers of the GPT and Gemma families, of latent attention and of encoders: one test per quirk.

Expected numbers are worked out from the model code of transformers 5.24 (named beside them), not by the importer.
"""

import json
import math
from typing import Any

import pytest

from designspace.candidate import Block, Candidate, Parallel
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec
from designspace.outside import Outside

FULL, SLIDING = "full_attention", "sliding_attention"


def imported(model_type: str, **keys: Any) -> Imported:
    text = json.dumps({"model_type": model_type, **keys})
    return import_config(parse(text, "config.json", special_numbers=True))


def layers(candidate: Candidate) -> list[Block]:
    return [block for block in candidate.blocks for _ in range(block.repeat)]


def mixers(model_type: str, **keys: Any) -> list[MixerSpec]:
    found = [block.mixer for block in layers(imported(model_type, **keys).candidate)]
    return [mixer for mixer in found if isinstance(mixer, MixerSpec)]


def first(model_type: str, **keys: Any) -> MixerSpec:
    return mixers(model_type, **keys)[0]


def dense(model_type: str, **keys: Any) -> MixerSpec:
    """The nearest mixer of a first layer that is outside the grammar."""
    mixer = layers(imported(model_type, **keys).candidate)[0].mixer
    assert isinstance(mixer, Outside)
    assert mixer.nearest is not None
    return mixer.nearest


def refused(key: str, model_type: str, **keys: Any) -> None:
    with pytest.raises(SpecError, match=key):
        imported(model_type, **keys)


# --- absolute positions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_type", "positions"),
    [
        ("gpt2", "learned"),
        ("gpt_bigcode", "learned"),
        ("openai-gpt", "learned"),
        ("opt", "learned"),
        ("biogpt", "learned"),
        ("gpt_neo", "learned"),
        ("xglm", "sinusoidal"),
        ("ctrl", "sinusoidal"),
    ],
)
def test_absolute_positions_stand_outside_the_mixer(model_type: str, positions: str) -> None:
    assert imported(model_type).candidate.model.positions == positions
    assert first(model_type).evolution_is_identity


def test_gpt2_scale_may_be_switched_off_or_shrink_with_the_layer() -> None:
    assert first("gpt2").base == 64**-0.5
    assert first("gpt2", scale_attn_weights=False).base == 1.0
    shrinking = mixers("gpt2", scale_attn_by_inverse_layer_idx=True)
    assert [mixer.base for mixer in shrinking[:3]] == pytest.approx([0.125, 0.125 / 2, 0.125 / 3])


def test_gpt_bigcode_has_one_key_value_head_unless_multi_query_is_off() -> None:
    assert first("gpt_bigcode").heads.groups == 1
    assert first("gpt_bigcode", multi_query=False).heads.groups == 12


def test_gpt_neo_default_and_written_patterns_agree_or_are_refused() -> None:
    assert [mixer.support.window for mixer in mixers("gpt_neo")[:3]] == [None, 256, None]
    assert {mixer.base for mixer in mixers("gpt_neo")} == {1.0}
    keys: dict[str, Any] = {"num_layers": 2, "attention_types": [[["global", "local"], 1]]}
    refused("attention_layers", "gpt_neo", **keys, attention_layers=["local", "global"])


def test_opt_embedding_width_is_no_head_size_and_the_350m_model_norms_after() -> None:
    result = imported("opt", hidden_size=1024, num_attention_heads=16, word_embed_proj_dim=512)
    assert result.candidate.model.model_dim == 1024
    assert result.candidate.blocks[0].norm.placement == "pre"
    assert imported("opt", do_layer_norm_before=False).candidate.blocks[0].norm.placement == "post"


def test_a_width_that_the_heads_do_not_divide_is_refused() -> None:
    refused("num_attention_heads", "opt", hidden_size=768, num_attention_heads=7)


# --- rotary GPTs ----------------------------------------------------------------------------------------------------


def test_gpt_neox_rotates_a_quarter_by_default_and_duplicates_must_agree() -> None:
    assert first("gpt_neox").rotation.fraction == 0.25
    assert first("gpt_neox", rotary_pct=1.0).rotation.fraction == 1.0
    assert first("gpt_neox", rotary_emb_base=5000).rotation.theta == 5000.0
    refused("rotary_pct", "gpt_neox", rotary_pct=0.25, partial_rotary_factor=0.5)
    refused("rotary_emb_base", "gpt_neox", rotary_emb_base=10000, rope_theta=20000)


def test_gpt_neox_japanese_rotates_everything() -> None:
    assert first("gpt_neox_japanese").rotation.fraction == 1.0


@pytest.mark.parametrize("model_type", ["gptj", "codegen"])
def test_gptj_rotary_dim_counts_channels_and_pairs_are_interleaved(model_type: str) -> None:
    rotation = first(model_type, n_embd=4096, n_head=16, rotary_dim=64).rotation
    assert (rotation.fraction, rotation.pairing, rotation.theta) == (0.25, "interleaved", 10000.0)
    refused("rotary_dim", model_type, n_embd=1024, n_head=16, rotary_dim=128)


def test_nemotron_rotates_half_under_either_name() -> None:
    assert first("nemotron").rotation.fraction == 0.5
    assert first("nemotron", rope_percent=0.25).rotation.fraction == 0.25
    assert first("nemotron", rope_percentage=0.25).rotation.fraction == 0.25


def test_nemotron_width_of_a_head_is_kv_channels_in_early_files() -> None:
    sizes = {"hidden_size": 4096, "num_attention_heads": 48, "num_key_value_heads": 8}
    assert first("nemotron", kv_channels=128, **sizes).heads.state_dim == 128
    assert first("nemotron", kv_channels=128, head_dim=128, **sizes).heads.state_dim == 128
    refused("kv_channels", "nemotron", kv_channels=64, head_dim=128, **sizes)


def test_falcon_key_value_heads_follow_the_architecture_not_the_number() -> None:
    seven = {"hidden_size": 4544, "num_attention_heads": 71, "num_kv_heads": 71}
    assert first("falcon", **seven, multi_query=True).heads.groups == 1
    forty = {"hidden_size": 8192, "num_attention_heads": 128, "num_kv_heads": 8, "multi_query": True}
    assert first("falcon", **forty, new_decoder_architecture=True).heads.groups == 8
    assert first("falcon", **seven, multi_query=False).heads.groups == 71
    refused("num_kv_heads", "falcon", **forty)


def test_falcon_alibi_is_divided_with_the_score() -> None:
    mixer = first("falcon", hidden_size=2048, num_attention_heads=32, alibi=True, multi_query=False)
    assert (mixer.shear.source, mixer.shear.scaled, mixer.rotation.source) == ("constant", True, "none")
    assert first("falcon").rotation.source == "constant"


def test_refined_web_names_of_falcon() -> None:
    forty = first("RefinedWeb", hidden_size=8192, n_head=128, n_head_kv=8, n_layer=2)
    assert (forty.heads.num_heads, forty.heads.groups) == (128, 8)
    seven = first("RefinedWebModel", hidden_size=4544, n_head=71, n_layer=2, multi_query=True)
    assert (seven.heads.num_heads, seven.heads.groups) == (71, 1)


def test_bloom_slopes_of_112_heads_are_those_of_64_and_every_other_of_128() -> None:
    slopes = first("bloom", hidden_size=14336, n_head=112).shear.head_slopes(112)
    assert slopes[0] == 2 ** (-8 / 64)
    assert slopes[63] == 2**-8
    assert slopes[64:66] == (2 ** (-8 / 128), 2 ** (-24 / 128))


def test_mpt_reads_its_nested_attn_config() -> None:
    plain = first("mpt", d_model=1024, n_heads=8)
    assert plain.shear.head_slopes(8) == tuple(2.0**-h for h in range(1, 9))
    assert imported("mpt").candidate.model.positions == "none"
    steep = first("mpt", d_model=1024, n_heads=8, attn_config={"alibi_bias_max": 16})
    assert steep.shear.head_slopes(8) == tuple(4.0**-h for h in range(1, 9))
    assert first("mpt", attn_config={"softmax_scale": 0.25}).base == 0.25
    assert first("mpt", attn_config={"qk_ln": True}).features.norm_over == "all_heads"
    assert first("mpt", attn_config={"attn_type": "multiquery_attention"}).heads.groups == 1
    assert "attn_config.clip_qkv" in imported("mpt", attn_config={"clip_qkv": 6}).approximated
    refused("prefix_lm", "mpt", attn_config={"prefix_lm": True})
    refused("attn_type", "mpt", attn_config={"attn_type": "sparse"})


def test_mpt_without_alibi_has_learned_positions_or_a_rotation() -> None:
    assert imported("mpt", attn_config={"alibi": False}).candidate.model.positions == "learned"
    rotating = imported("mpt", attn_config={"alibi": False, "rope": True, "rope_theta": 500000})
    assert rotating.candidate.model.positions == "none"
    assert first("mpt", attn_config={"alibi": False, "rope": True, "rope_theta": 500000}).rotation.theta == 500000.0


def test_mpt_slopes_of_twelve_heads_take_the_odd_ones_of_sixteen_first() -> None:
    slopes = first("mpt", d_model=768, n_heads=12).shear.head_slopes(12)
    sixteen = [2 ** (-h / 2) for h in range(1, 17)]
    assert slopes == pytest.approx([*sixteen[1::2], *sixteen[::2]][:12])  # build_mpt_alibi_tensor


# --- Gemma ----------------------------------------------------------------------------------------------------------


def test_gemma_head_dim_is_256_whatever_the_width() -> None:
    assert first("gemma", hidden_size=2048, num_attention_heads=4, num_key_value_heads=1).heads.state_dim == 256


@pytest.mark.parametrize("model_type", ["gemma2", "vaultgemma"])
def test_gemma2_scale_softcap_and_alternating_windows(model_type: str) -> None:
    found = mixers(model_type, query_pre_attn_scalar=144)
    assert [mixer.support.window for mixer in found[:4]] == [4096, None, 4096, None]
    assert found[0].base == 1 / 12
    assert found[0].readout.cap == 50.0
    assert first(model_type, attn_logit_softcapping=None).readout.cap == math.inf
    assert first(model_type, attn_logit_softcapping=30.0).readout.cap == 30.0
    refused("query_pre_attn_scalar", model_type, query_pre_attn_scalar=0)


def test_gemma3_older_keys_give_each_kind_its_theta_and_scale_the_full_layers_only() -> None:
    keys = {"rope_theta": 2e6, "rope_local_base_freq": 5e3, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    found = mixers("gemma3_text", num_hidden_layers=6, sliding_window=512, sliding_window_pattern=3, **keys)
    assert [mixer.support.window for mixer in found] == [512, 512, None, 512, 512, None]
    local, full = found[0].rotation, found[2].rotation
    assert (local.theta, local.scaling) == (5e3, None)
    assert full.theta == 2e6
    assert full.scaling is not None
    assert (full.scaling.kind, full.scaling.factor) == ("linear", 8.0)


def test_gemma3_nested_rope_parameters_and_class_defaults() -> None:
    nested = {SLIDING: {"rope_theta": 7e3}, FULL: {"rope_theta": 3e6}}
    found = mixers("gemma3_text", rope_parameters=nested)
    assert (found[0].rotation.theta, found[5].rotation.theta) == (7e3, 3e6)
    assert found[0].features.norm == "rms_weighted"
    plain = mixers("gemma3_text")
    assert (plain[0].rotation.theta, plain[5].rotation.theta) == (1e4, 1e6)
    refused("rope_local_base_freq", "gemma3_text", rope_parameters=nested, rope_local_base_freq=9e3)


def test_gemma3_pattern_and_layer_types_must_agree() -> None:
    keys = {"num_hidden_layers": 2, "layer_types": [SLIDING, FULL]}
    assert [mixer.support.window for mixer in mixers("gemma3_text", **keys)] == [4096, None]
    refused("layer_types", "gemma3_text", **keys, sliding_window_pattern=6)


def test_embedding_gemma_reads_both_ways_with_half_the_window_to_either_side() -> None:
    result = imported("gemma3_text", use_bidirectional_attention=True, sliding_window=512)
    assert result.verdict == "not_applicable"
    nearest = dense("gemma3_text", use_bidirectional_attention=True, sliding_window=512)
    assert (nearest.support.mask, nearest.support.window) == ("none", 257)  # 512 // 2 + 1 in __post_init__
    assert nearest.support.visible(1000, 2000) == 513


def test_gemma3n_does_not_divide_scores_and_notes_the_shared_keys() -> None:
    result = imported("gemma3n_text")
    found = mixers("gemma3n_text")
    assert {mixer.base for mixer in found} == {1.0}
    assert [mixer.support.window for mixer in found[:5]] == [512] * 4 + [None]
    assert "15 layers" in result.approximated["num_kv_shared_layers"]
    assert imported("gemma3n_text", num_kv_shared_layers=0).approximated == {}


def test_gemma3n_widths_of_the_channel_mixers_are_listed_by_layer() -> None:
    keys = {"num_hidden_layers": 2, "num_kv_shared_layers": 0, "hidden_size": 1024}
    blocks = layers(imported("gemma3n_text", **keys, intermediate_size=[2048, 4096]).candidate)
    assert [block.channel_mixer.ratio for block in blocks] == [2.0, 4.0]
    refused("intermediate_size", "gemma3n_text", **keys, intermediate_size=[2048])


def test_gemma4_full_layers_are_wider_and_rotate_a_quarter_of_all_channels() -> None:
    sliding, full = (mixers("gemma4_text")[index] for index in (0, 5))
    assert (sliding.heads.state_dim, full.heads.state_dim, full.heads.head_dim) == (256, 512, 512)
    assert (sliding.rotation.fraction, full.rotation.fraction) == (1.0, 0.25)
    assert full.base == sliding.base == 1.0
    pairs = full.rotation.angles(512)
    assert len(pairs) == 64
    assert pairs[1] == pytest.approx(1e6 ** (-2 / 512))  # proportional: the exponent counts all channels


def test_gemma4_overrides_by_layer_in_both_spellings() -> None:
    written = mixers("gemma4_text", per_layer_config={"5": {"head_dim": 128, "num_key_value_heads": 2}})
    assert [written[index].heads.state_dim for index in (4, 5, 11)] == [256, 128, 256]
    assert written[5].heads.groups == 2
    older = mixers("gemma4_text", global_head_dim=64, attention_k_eq_v=True, num_global_key_value_heads=1)
    assert (older[5].heads.state_dim, older[5].heads.groups, older[4].heads.groups) == (64, 1, 4)
    refused("num_attention_heads", "gemma4_text", per_layer_config={"5": {"num_attention_heads": 2}})
    refused("per_layer_config", "gemma4_text", per_layer_config={"99": {"head_dim": 128}})


def test_gemma4_last_layer_is_always_full() -> None:
    found = mixers("gemma4_text", num_hidden_layers=2, layer_types=[SLIDING, SLIDING])
    assert [mixer.support.window for mixer in found] == [512, None]


# --- llama4, gpt_oss, mimo ------------------------------------------------------------------------------------------


def test_llama4_chunked_rotary_layers_and_layers_without_positions() -> None:
    found = mixers("llama4_text")
    assert [mixer.support.chunk for mixer in found[:4]] == [8192, 8192, 8192, None]
    rotary, nope = found[0], found[3]
    assert (rotary.rotation.pairing, rotary.features.norm, rotary.features.norm_order) == (
        "interleaved",
        "rms",
        "after_rotation",
    )
    assert rotary.scaling.query_schedule == "none"
    assert (nope.rotation.source, nope.features.norm, nope.scaling.query_schedule) == ("none", "none", "log")
    assert first("llama4_text", use_qk_norm=False).features.norm == "none"


def test_llama4_a_one_in_no_rope_layers_means_rotary() -> None:
    found = mixers("llama4_text", num_hidden_layers=2, no_rope_layers=[0, 1])
    assert [mixer.rotation.source for mixer in found] == ["none", "constant"]
    assert [mixer.rotation.source for mixer in mixers("llama4_text", no_rope_layers=[])[:4]].count("none") == 1
    refused("no_rope_layers", "llama4_text", num_hidden_layers=2, no_rope_layers=[0, 1], no_rope_layer_interval=4)


def test_llama4_schedule_of_the_scores_is_the_one_of_the_grammar_or_refused() -> None:
    assert mixers("llama4_text", attn_temperature_tuning=False)[3].scaling.query_schedule == "none"
    assert mixers("llama4_text", attn_temperature_tuning=4)[3].scaling.query_schedule == "log"
    refused("attn_temperature_tuning", "llama4_text", attn_temperature_tuning="yes")
    refused("floor_scale", "llama4_text", floor_scale=4096)
    refused("attn_scale", "llama4_text", attn_scale=0.2)


def test_llama4_scout_scales_angles_with_a_step() -> None:
    scaling = {
        "rope_type": "llama3",
        "factor": 16.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
    }
    plain = first("llama4_text").rotation.angles(128)
    scaled = first("llama4_text", rope_scaling=scaling).rotation.angles(128)
    expected = [angle if 2 * math.pi / angle < 8192 else angle / 16 for angle in plain]
    assert scaled == pytest.approx(expected)


def test_gpt_oss_sink_windows_and_yarn_by_default() -> None:
    found = mixers("gpt_oss")
    assert [mixer.support.window for mixer in found[:4]] == [128, None, 128, None]
    assert {mixer.normalization.kind for mixer in found} == {"sum_with_sink"}
    rotation = found[0].rotation
    assert rotation.scaling is not None
    assert (rotation.theta, rotation.scaling.factor, rotation.scaling.truncate) == (150000.0, 32.0, False)
    assert rotation.attention_factor == pytest.approx(0.1 * math.log(32) + 1)
    refused("initial_context_length", "gpt_oss", initial_context_length=8192)


def test_mimo_two_kinds_of_heads_one_window_and_a_sink_in_sliding_layers() -> None:
    found = mixers("mimo_v2_flash")
    full, sliding = found[0], found[1]
    assert (full.heads.state_dim, full.heads.head_dim, full.heads.groups) == (192, 128, 4)
    assert sliding.heads.groups == 8
    assert (full.support.window, sliding.support.window) == (None, 129)
    assert (full.normalization.kind, sliding.normalization.kind) == ("sum", "sum_with_sink")
    assert (full.rotation.theta, sliding.rotation.theta) == (5e6, 1e4)
    assert full.rotation.pairs(192) == 32
    assert [mixer.support.window for mixer in found[:6]] == [None, 129, 129, 129, 129, None]


def test_mimo_names_of_the_hub() -> None:
    keys = {"num_hidden_layers": 3, "hybrid_layer_pattern": [0, 1, 0], "sliding_window": 64, "sliding_window_size": 64}
    found = mixers("mimo_v2_flash", **keys, swa_rope_theta=500, swa_num_key_value_heads=16)
    assert [mixer.support.window for mixer in found] == [None, 65, None]
    assert (found[1].rotation.theta, found[1].heads.groups) == (500.0, 16)
    refused("sliding_window", "mimo_v2_flash", **{**keys, "sliding_window": 32})
    refused("hybrid_layer_pattern", "mimo_v2_flash", num_hidden_layers=3, hybrid_layer_pattern=[0, 2, 0])


# --- latent attention -----------------------------------------------------------------------------------------------

YARN = {
    "type": "yarn",
    "factor": 40,
    "original_max_position_embeddings": 4096,
    "mscale": 0.707,
    "mscale_all_dim": 0.707,
}


def test_mla_sizes_share_of_rotary_channels_and_latent() -> None:
    mixer = first("deepseek_v3")
    heads = mixer.heads
    assert (heads.state_dim, heads.head_dim, heads.latent_dim, heads.shared_key_dim) == (192, 128, 512, 64)
    assert (heads.kv_groups, heads.groups) == (None, 128)
    assert mixer.rotation.fraction == pytest.approx(64 / 192)
    assert mixer.rotation.pairs(192) == 32


def test_mla_pairs_are_interleaved_except_where_code_or_key_says_otherwise() -> None:
    assert first("deepseek_v2").rotation.pairing == "interleaved"
    assert first("minicpm3").rotation.pairing == "half"
    assert first("deepseek_v3").rotation.pairing == "interleaved"
    assert first("deepseek_v3", rope_interleave=False).rotation.pairing == "half"


def test_mla_score_scale_holds_the_square_of_the_yarn_factor() -> None:
    mixer = first("deepseek_v2", rope_scaling=YARN)
    gain = 0.1 * 0.707 * math.log(40) + 1
    assert mixer.base == pytest.approx(gain * gain / math.sqrt(192))
    assert mixer.rotation.attention_factor == 1.0  # mscale equals mscale_all_dim
    apart = first("deepseek_v2", rope_scaling={**YARN, "mscale": 1.0})
    assert apart.rotation.attention_factor == pytest.approx((0.1 * math.log(40) + 1) / gain)
    without = {key: value for key, value in YARN.items() if not key.startswith("mscale")}
    assert first("deepseek_v2", rope_scaling=without).base == pytest.approx(192**-0.5)


def test_mla_keys_that_contradict_the_widths_are_refused() -> None:
    refused("num_key_value_heads", "deepseek_v3", num_key_value_heads=8)
    refused("qk_head_dim", "deepseek_v3", qk_head_dim=128)
    refused("head_dim", "deepseek_v3", head_dim=100)
    refused("qk_rope_head_dim", "deepseek_v3", qk_rope_head_dim=0)
    refused("partial_rotary_factor", "glm4_moe_lite", partial_rotary_factor=0.5)
    assert first("glm4_moe_lite", partial_rotary_factor=1.0).rotation.fraction == 0.25


def test_mla_null_q_lora_rank_is_noted() -> None:
    assert "whole" in imported("deepseek_v2", q_lora_rank=None).derived["query"]
    assert "1536" in imported("deepseek_v2").derived["query"]


@pytest.mark.parametrize(
    ("model_type", "key_dim", "value_dim", "latent"),
    [
        ("kimi_k2", 192, 128, 512),
        ("minicpm3", 96, 64, 256),
        ("glm4_moe_lite", 256, 256, 512),
        ("youtu", 192, 128, 512),
        ("axk1", 192, 128, 512),
        ("sarvam_mla", 192, 128, 512),
        ("mistral4", 128, 128, 256),
    ],
)
def test_mla_class_defaults(model_type: str, key_dim: int, value_dim: int, latent: int) -> None:
    heads = first(model_type).heads
    assert (heads.state_dim, heads.head_dim, heads.latent_dim) == (key_dim, value_dim, latent)


def test_sarvam_first_files_say_deepseek_yarn_and_the_width_of_the_cache() -> None:
    mixer = first("sarvam_mla", rope_scaling={**YARN, "type": "deepseek_yarn"}, head_dim=576, q_head_dim=192)
    assert mixer.rotation.scaling is not None
    assert mixer.rotation.scaling.kind == "yarn"


def test_longcat_has_two_sub_layers_and_multiplies_the_queries() -> None:
    result = imported("longcat_flash", num_layers=3)
    assert result.candidate.num_layers == 6
    assert first("longcat_flash").base == pytest.approx(192**-0.5 * math.sqrt(6144 / 1536))
    assert first("longcat_flash", mla_scale_q_lora=False).base == pytest.approx(192**-0.5)
    refused("head_dim", "longcat_flash", head_dim=128)


def test_mistral4_growth_of_the_queries_and_yarn_of_the_class() -> None:
    mixer = first("mistral4")
    assert mixer.scaling.query_schedule == "log"
    assert mixer.rotation.scaling is not None
    assert mixer.rotation.scaling.factor == 128.0
    assert mixer.base == pytest.approx((0.1 * math.log(128) + 1) ** 2 / math.sqrt(128))
    other = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "llama_4_scaling_beta": 0.1}
    refused("llama_4_scaling_beta", "mistral4", rope_parameters=other)
    assert first("mistral4", rope_parameters={"rope_theta": 1e4}).scaling.query_schedule == "none"


def test_diffllama_pairs_of_heads_share_values_and_the_weight_grows_with_depth() -> None:
    blocks = layers(imported("diffllama", num_key_value_heads=8).candidate)
    assert isinstance(blocks[0].mixer, Parallel)
    assert isinstance(blocks[5].mixer, Parallel)
    heads = blocks[0].mixer.parallel[0].heads
    assert (heads.num_heads, heads.groups, heads.state_dim, heads.head_dim) == (16, 4, 64, 128)
    assert blocks[0].mixer.shared_values
    assert blocks[0].mixer.weights == pytest.approx((1.0, -0.2))
    assert blocks[5].mixer.weights == pytest.approx((1.0, -(0.8 - 0.6 * math.exp(-1.5))))
    refused("num_key_value_heads", "diffllama", num_key_value_heads=1)


# --- outside the grammar --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_type", "key"),
    [
        ("deepseek_v32", "index_topk"),
        ("glm_moe_dsa", "index_topk"),
        ("axk2", "index_topk"),
        ("doge", "keep_window_size"),
    ],
)
def test_sparse_support_is_named_with_its_number_and_the_dense_part_kept(model_type: str, key: str) -> None:
    result = imported(model_type, **{key: 77})
    assert result.verdict == "unsupported"
    mixer = layers(result.candidate)[0].mixer
    assert isinstance(mixer, Outside)
    assert f"{key} = 77" in mixer.reason
    assert dense(model_type).readout.kind == "exponential"


def test_deepseek_v4_layers_by_compression_ratio() -> None:
    keys = {"num_hidden_layers": 3, "compress_ratios": [0, 4, 128, 0], "rope_theta": 5000}
    yarn = {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}
    blocks = layers(imported("deepseek_v4", **keys, rope_scaling=yarn).candidate)
    plain, picked, compressed = (block.mixer for block in blocks)
    assert isinstance(plain, MixerSpec)
    assert isinstance(picked, Outside)
    assert isinstance(compressed, Outside)
    assert (plain.rotation.theta, plain.rotation.scaling, plain.support.window) == (5000.0, None, 128)
    assert (plain.heads.groups, plain.rotation.fraction) == (1, 0.125)
    assert picked.nearest is not None
    assert (picked.nearest.rotation.theta, picked.nearest.rotation.attention_factor) == (160000.0, 1.0)
    assert "512" in picked.reason
    assert "128" in compressed.reason
    refused("compress_ratios", "deepseek_v4", num_hidden_layers=3, compress_ratios=[0, 5, 128])


def test_minimax_m3_sparse_layers_in_both_spellings() -> None:
    kinds = ["full_attention", "minimax_m3_sparse"]
    older = {"sparse_attention_freq": [0, 1], "sparse_topk_blocks": 8, "sparse_block_size": 64}
    for keys in ({"layer_types": kinds}, {"sparse_attention_config": older}):
        blocks = layers(imported("minimax_m3", num_hidden_layers=2, **keys).candidate)
        assert [isinstance(block.mixer, Outside) for block in blocks] == [False, True]
    mixer = layers(imported("minimax_m3", num_hidden_layers=2, sparse_attention_config=older).candidate)[1].mixer
    assert isinstance(mixer, Outside)
    assert "8 best blocks of 64" in mixer.reason


def test_zaya_convolves_over_three_tokens_and_says_what_it_leaves_out() -> None:
    result = imported("zaya")
    mixer = first("zaya")
    assert (mixer.io.short_conv.width, mixer.rotation.fraction, mixer.rotation.theta) == (3, 0.5, 5e6)
    assert (mixer.features.norm, mixer.scaling.learnable) == ("rms", True)
    assert "cca_time1" in result.approximated
    assert first("zaya", cca_time0=4).io.short_conv.width == 5
    refused("sliding_window", "zaya", num_hidden_layers=1, layer_types=["hybrid_sliding"])


def test_zaya_first_files_count_experts_as_layers() -> None:
    keys = {"num_hidden_layers": 80, "cca": True, "rope_scaling": False, "rope_theta": 5e6, "ffn_hidden_size": 4096}
    result = imported("zaya", **keys, hidden_size=2048, num_query_groups=2, kv_channels=128, partial_rotary_factor=0.5)
    assert result.candidate.num_layers == 40
    assert result.candidate.blocks[0].channel_mixer.ratio == 1.0
    refused("num_query_groups", "zaya", **keys, num_query_groups=4)


# --- encoders -------------------------------------------------------------------------------------------------------

ENCODERS = [
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "distilbert",
    "electra",
    "deberta-v2",
    "modernbert",
    "nomic_bert",
]


@pytest.mark.parametrize("model_type", ENCODERS)
def test_encoders_are_told_apart(model_type: str) -> None:
    assert imported(model_type).verdict == "not_applicable"
    assert dense(model_type).support.mask == "none"


@pytest.mark.parametrize("model_type", ["bert", "roberta", "xlm-roberta", "electra"])
def test_an_encoder_class_as_a_decoder_is_causal(model_type: str) -> None:
    assert imported(model_type, is_decoder=True).verdict == "ok"
    assert first(model_type, is_decoder=True).support.mask == "causal"


def test_bert_relative_positions_of_older_code_are_noted() -> None:
    assert "position_embedding_type" in imported("bert", position_embedding_type="relative_key").approximated
    refused("position_embedding_type", "bert", position_embedding_type="rotary")


def test_deberta_divides_by_the_number_of_terms_of_the_score() -> None:
    keys = {"relative_attention": True, "pos_att_type": "p2c|c2p"}
    assert dense("deberta-v2", **keys).base == pytest.approx((3 * 64) ** -0.5)
    assert dense("deberta-v2").base == pytest.approx(64**-0.5)
    refused("pos_att_type", "deberta-v2", relative_attention=True, pos_att_type=["p2p"])


def test_modernbert_layers_windows_and_thetas() -> None:
    blocks = layers(imported("modernbert").candidate)
    nearest = [block.mixer.nearest for block in blocks if isinstance(block.mixer, Outside)]
    assert [mixer.support.window for mixer in nearest[:4] if mixer] == [None, 65, 65, None]
    assert [mixer.rotation.theta for mixer in nearest[:2] if mixer] == [160000.0, 10000.0]
    causal = mixers("modernbert-decoder")
    assert [mixer.support.window for mixer in causal[:4]] == [None, 64, 64, None]


def test_nomic_bert_in_the_names_of_its_own_code() -> None:
    nearest = dense("nomic_bert", n_embd=768, n_head=12, rotary_emb_base=2000, rotary_emb_fraction=0.5)
    assert (nearest.rotation.theta, nearest.rotation.fraction) == (2000.0, 0.5)
    assert imported("nomic_bert", causal=True).verdict == "ok"
    refused("rotary_emb_scale_base", "nomic_bert", rotary_emb_scale_base=512)


@pytest.mark.parametrize("model_type", ["t5", "mt5"])
def test_t5_both_halves_with_unscaled_scores_and_a_table_of_distances(model_type: str) -> None:
    result = imported(model_type, num_layers=2, num_decoder_layers=3, relative_attention_max_distance=64)
    assert result.verdict == "not_applicable"
    assert "encoder-decoder" in result.approximated["is_encoder_decoder"]
    blocks = layers(result.candidate)
    assert [isinstance(block.mixer, Outside) for block in blocks] == [True] * 2 + [False] * 3
    decoder = blocks[-1].mixer
    assert isinstance(decoder, MixerSpec)
    assert (decoder.base, decoder.shear.width) == (1.0, 64)


def test_bart_both_halves_or_the_decoder_alone() -> None:
    keys = {"encoder_layers": 2, "decoder_layers": 3, "decoder_attention_heads": 8}
    blocks = layers(imported("bart", **keys).candidate)
    assert [isinstance(block.mixer, Outside) for block in blocks] == [True] * 2 + [False] * 3
    alone = imported("bart", **keys, is_encoder_decoder=False)
    assert (alone.verdict, alone.candidate.num_layers) == ("ok", 3)
    assert first("bart", **keys, is_encoder_decoder=False).heads.num_heads == 8
