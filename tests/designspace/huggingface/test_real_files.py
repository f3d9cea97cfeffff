"""Files as they lie on the hub: keys that real checkpoints hold and that class defaults do not show.

Each test names the file its keys are from; expected values come from the modeling code named in the importer's file,
not from the importer. The files of NVIDIA, Qwen, Zhipu, MiniMax and Moonshot were read in the wheel of
aiconfigurator-core 0.12.0 (`model_configs/`), the old spelling of Zamba2 in NX-AI/mlstm_kernels.
"""

import json
from typing import Any

import pytest

from designspace.candidate import Block
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec


def result(**keys: Any) -> Imported:
    return import_config(parse(json.dumps(keys), "config.json", special_numbers=True))


def blocks(**keys: Any) -> list[Block]:
    return [block for block in result(**keys).candidate.blocks for _ in range(block.repeat)]


def mixers(**keys: Any) -> list[MixerSpec]:
    return [mixer for block in blocks(**keys) for mixer in block.mixers]


NOISE = {
    "custom_pipelines": {"text-generation": {"impl": "instruct_pipeline.py"}},  # databricks/dolly-v2-3b
    "max_sequence_length": 2048,  # decapoda-research/llama-7b-hf
    "model_max_length": 131072,  # CohereForAI/c4ai-command-r-v01
    "_from_model_config": True,  # baichuan-inc/Baichuan2-7B-Base
    "_flash_attn_2_enabled": True,  # NousResearch, 2023
    "is_llama_config": True,  # HuggingFaceTB/SmolLM2-135M
    "rope_interleaved": False,
    "use_mrope": False,  # Qwen/Qwen2.5-7B
    "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}},
    "activation": "swiglu",  # tiiuae/Falcon3-7B-Base
    "perceiver_config": {"model_type": "vllama3"},  # text part of HuggingFaceTB/SmolVLM-Instruct, to qk_layer_norms
    "pixel_shuffle_factor": 3,
    "neftune_noise_alpha": 0.0,
    "qk_layer_norms": False,
    "add_cross_attention": False,  # moonshotai/Kimi-K2.5, from here on
    "cross_attention_hidden_size": None,
    "pruned_heads": {},
    "tie_encoder_decoder": False,
}


@pytest.mark.parametrize("key", NOISE)
def test_keys_that_real_files_carry_along_are_ignored_with_a_reason(key: str) -> None:
    found = result(model_type="llama", **{key: NOISE[key]})
    assert found.unknown == ()
    assert found.ignored[key]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("add_cross_attention", True),
        ("pruned_heads", {"0": [1]}),
        ("rope_interleaved", True),
        ("qk_layer_norms", True),
    ],
)
def test_the_same_keys_switched_on_are_errors(key: str, value: object) -> None:
    with pytest.raises(SpecError, match=key):
        result(model_type="llama", **{key: value})


def test_yarn_files_of_nous_say_that_they_were_tuned() -> None:
    yarn = {"factor": 16.0, "original_max_position_embeddings": 4096, "type": "yarn", "finetuned": True}
    assert result(model_type="llama", rope_scaling=yarn).unknown == ()


@pytest.mark.parametrize("kinds", [{"type": "mrope"}, {"type": "mrope", "rope_type": "default"}, {"type": "default"}])
def test_axes_of_qwen_vl_are_the_plain_rotation_under_all_its_names(kinds: dict[str, str]) -> None:
    """Qwen2.5-VL as published, and as saved by newer versions of transformers."""
    (mixer, *_) = mixers(model_type="qwen2_vl", rope_scaling={"mrope_section": [16, 24, 24], **kinds})
    assert mixer.rotation.scaling is None
    assert mixer.rotation.fraction == 1


def test_shares_of_rotating_channels_inside_and_outside_the_parameters() -> None:
    """nvidia/Qwen3.6-27B-NVFP4 holds partial_rotary_factor twice; transformers reads the nested one."""
    keys = {"model_type": "qwen3_5_text", "partial_rotary_factor": 0.25}
    parameters = {"rope_type": "default", "rope_theta": 1e7, "mrope_section": [11, 11, 10]}
    assert mixers(**keys, rope_parameters=parameters | {"partial_rotary_factor": 0.25})[3].rotation.fraction == 0.25
    inside = {"rope_parameters": parameters | {"partial_rotary_factor": 0.5}}
    assert mixers(**keys, **inside)[3].rotation.fraction == 0.5
    assert "0.25" in result(**keys, **inside).derived["partial_rotary_factor"]
    assert "partial_rotary_factor" not in result(model_type="qwen3_5_text", **inside).derived


def test_axes_do_not_hide_a_scaling() -> None:
    with pytest.raises(SpecError, match="contradicts"):
        result(model_type="qwen2_vl", rope_scaling={"type": "mrope", "rope_type": "linear", "factor": 2.0})


@pytest.mark.parametrize("model_type", ["qwen3", "qwen3_moe"])
def test_qwen3_coder_says_what_the_code_always_does(model_type: str) -> None:
    assert mixers(model_type=model_type, use_qk_norm=True)[0].features.norm == "rms_weighted"
    with pytest.raises(SpecError, match="use_qk_norm"):
        result(model_type=model_type, use_qk_norm=False)


def test_output_gate_of_qwen36() -> None:
    assert result(model_type="qwen3_5_text", output_gate_type="swish").unknown == ()
    with pytest.raises(SpecError, match="output_gate_type"):
        result(model_type="qwen3_5_text", output_gate_type="sigmoid")


def test_head_dim_of_glm_52_is_the_part_without_rotation() -> None:
    assert mixers(model_type="glm_moe_dsa", head_dim=192, qk_nope_head_dim=192)[0:0] == []
    with pytest.raises(SpecError, match="head_dim"):
        result(model_type="glm_moe_dsa", head_dim=100)


def test_saved_cohere2_files_hold_the_pattern_under_a_private_name() -> None:
    spans = [mixer.support.window is None for mixer in mixers(model_type="cohere2", _sliding_window_pattern=2)]
    assert spans == [layer % 2 == 1 for layer in range(len(spans))]
    with pytest.raises(SpecError, match="_sliding_window_pattern"):
        result(model_type="cohere2", _sliding_window_pattern=2, sliding_window_pattern=4)


def test_santacoder_is_a_gpt2_with_one_key_head() -> None:
    shared = mixers(model_type="gpt2", attention_head_type="multiquery")[0].heads
    assert (shared.num_heads, shared.groups) == (12, 1)
    assert mixers(model_type="gpt2", attention_head_type="multihead") == mixers(model_type="gpt2")
    with pytest.raises(SpecError, match="attention_head_type"):
        result(model_type="gpt2", attention_head_type="grouped")


def test_chunks_of_the_long_qwen_files_are_followed_in_part() -> None:
    """Qwen/Qwen2.5-7B-Instruct-1M: read by vLLM, not by transformers."""
    found = result(model_type="qwen2", dual_chunk_attention_config={"chunk_size": 262144, "local_size": 8192})
    assert "dual_chunk_attention_config" in found.approximated


def test_first_files_of_zamba2_name_taps_and_expansion_otherwise() -> None:
    """Zyphra/Zamba2-7B at its release."""
    keys = {"model_type": "zamba2", "hidden_size": 3584, "mamba_headdim": 64, "expansion_factor": 2}
    recurrent = mixers(**keys, conv_dimension=3)[0]
    assert recurrent.io.short_conv.width == 3
    assert recurrent.heads.num_heads == 2 * 3584 // 64
    with pytest.raises(SpecError, match="conv_dimension"):
        result(**keys, conv_dimension=3, mamba_d_conv=4)


def test_old_files_of_fla() -> None:
    """fla-hub/hgrn-1.3B-100B and fla-hub/delta_net-1.3B-100B of 2024."""
    assert mixers(model_type="hgrn", num_heads=1) == mixers(model_type="hgrn")
    assert mixers(model_type="delta_net", chunk_size=64) == mixers(model_type="delta_net")
    ungated = mixers(model_type="gated_deltaproduct", use_gate=False)[0]
    assert ungated == mixers(model_type="gated_deltaproduct", use_output_gate=False)[0]
    assert ungated != mixers(model_type="gated_deltaproduct")[0]


def test_length_of_a_mamba_file_that_states_one() -> None:
    assert result(model_type="mamba2", max_position_embeddings=4096).candidate.target.seq_len == 4096
    assert result(model_type="mamba2").candidate.target.seq_len == 2048


def test_a_bound_of_the_step_that_no_step_reaches_is_none() -> None:
    """nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 writes the largest double for an infinity."""
    assert "time_step_limit" not in result(model_type="mamba2", time_step_limit=[0.0, 1e308]).approximated
    assert "time_step_limit" in result(model_type="mamba2", time_step_limit=[0.0, 0.5]).approximated


def test_language_part_of_deepseek_vl2() -> None:
    language = {"model_type": "deepseek_v2", "lm_head": True, "rm_head": False, "use_mla": True}
    found = result(model_type="deepseek_vl_v2", language_config=language)
    assert found.unknown == ()
    assert all(mixer.heads.latent_dim == 512 for mixer in mixers(model_type="x", language_config=language))


def test_small_deepseek_vl2_has_no_latent() -> None:
    """deepseek-ai/deepseek-vl2-tiny, DeepSeek-OCR: plain attention; the widths of the latent are 0 or null."""
    widths = {"kv_lora_rank": None, "q_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0}
    sizes = {"hidden_size": 1280, "num_attention_heads": 10, "num_key_value_heads": 10, "num_hidden_layers": 12}
    found = mixers(model_type="deepseek_v2", use_mla=False, **widths, **sizes)
    assert {(mixer.heads.num_heads, mixer.key_dim, mixer.heads.latent_dim) for mixer in found} == {(10, 128, None)}
    assert {mixer.rotation.fraction for mixer in found} == {1.0}


OLMO = {"d_model": 2048, "n_heads": 16, "n_layers": 16, "mlp_ratio": 8, "max_sequence_length": 2048, "rope": True}
OLMO_OFF = {"alibi": False, "alibi_bias_max": 8.0, "attention_layer_norm": False, "multi_query_attention": False}


@pytest.mark.parametrize("model_type", ["hf_olmo", "olmo"])
def test_olmo_in_its_first_format_is_the_later_one(model_type: str) -> None:
    """allenai/OLMo-1B and allenai/OLMo-1B-hf."""
    later = blocks(model_type="olmo", hidden_size=2048, num_attention_heads=16, num_hidden_layers=16,
                   intermediate_size=8192)  # fmt: skip
    assert blocks(model_type=model_type, **OLMO, **OLMO_OFF) == later
    one_key = mixers(model_type=model_type, **OLMO, **OLMO_OFF | {"multi_query_attention": True})
    assert one_key[0].heads.groups == 1
    for key in ("alibi", "attention_layer_norm"):
        with pytest.raises(SpecError, match=key):
            result(model_type=model_type, **OLMO, **OLMO_OFF | {key: True})


PRUNED = [
    {"attention": {"no_op": False, "n_heads_in_group": 8}, "ffn": {"ffn_mult": 5.25, "no_op": False}},
    {"attention": {"no_op": True, "n_heads_in_group": None}, "ffn": {"ffn_mult": 2.625}},
    {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
    {"attention": {"n_heads_in_group": 16}, "ffn": {"ffn_mult": 2.625}},
]


def test_pruned_llama_has_layers_without_attention() -> None:
    """nvidia/Llama-3_3-Nemotron-Super-49B-v1."""
    keys = {"model_type": "nemotron-nas", "num_hidden_layers": 4, "num_key_value_heads": None}
    found = blocks(**keys, block_configs=PRUNED)
    heads = [block.mixers[0].heads.groups if block.mixers else None for block in found]
    assert heads == [8, None, None, 4]
    assert [block.channel_mixer.ratio * 8192 for block in found if block.channel_mixer.kind != "none"] == [
        28672,
        14336,
        14336,
    ]
    with pytest.raises(SpecError, match="window_length"):
        result(**keys, block_configs=[*PRUNED[:3], {"attention": {"n_heads_in_group": 8, "window_length": 512}}])
    with pytest.raises(SpecError, match="block_configs"):
        result(**keys, block_configs=PRUNED[:3])


SIZES = {"hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4, "num_hidden_layers": 4}


@pytest.mark.parametrize("model_type", ["mimo", "arctic", "bailing_moe"])
def test_relatives_of_llama_under_other_names(model_type: str) -> None:
    """XiaomiMiMo/MiMo-7B-Base, Snowflake/snowflake-arctic-base, inclusionAI/Ling-lite."""
    same = {"vocab_size": 1000, "intermediate_size": 4096, "rope_theta": 5e4, "max_position_embeddings": 4096}
    assert mixers(model_type=model_type, **SIZES, **same) == mixers(model_type="llama", **SIZES, **same)


def test_ling_2_norms_and_rotates_in_part() -> None:
    """inclusionAI/Ling-mini-2.0."""
    (mixer, *_) = mixers(
        model_type="bailing_moe_v2", **SIZES, use_qk_norm=True, partial_rotary_factor=0.5, head_dim=128
    )
    assert (mixer.features.norm, mixer.features.norm_order) == ("rms_weighted", "before_rotation")
    assert (mixer.rotation.fraction, mixer.rotation.pairing) == (0.5, "half")
    assert mixers(model_type="bailing_moe_v2", **SIZES, use_qk_norm=False)[0].features.norm == "none"


@pytest.mark.parametrize(
    ("model_type", "like"),
    [("glm4v_text", "glm4"), ("gpt-sw3", "gpt2"), ("phi4mm", "phi3"), ("phi4_multimodal", "phi3")],
)
def test_text_part_of_one_type_is_another_type(model_type: str, like: str) -> None:
    assert mixers(model_type=model_type) == mixers(model_type=like)


def test_text_part_of_glm_45v_has_no_norm_on_keys() -> None:
    (mixer, *_) = mixers(model_type="glm4v_moe_text", head_dim=128, use_qk_norm=True)
    assert mixer.features.norm == "none"
    assert (mixer.rotation.fraction, mixer.rotation.pairing) == (0.5, "half")


def test_older_mamba2_files_of_fla_bound_the_step_under_the_name_of_transformers() -> None:
    """fla-hub/mamba2-1.3B-100B: `norm_eps`, `time_step_limit`; `dt_limit` in fla-core 0.6.0."""
    keys = {"model_type": "mamba2", "norm_eps": 1e-5, "hidden_size": 2048}
    assert not result(**keys, time_step_limit=[0.0, float("inf")]).approximated
    for key in ("time_step_limit", "dt_limit"):
        assert key in result(**keys, **{key: [0.0, 0.5]}).approximated


def test_window_of_a_saved_modernbert_decoder() -> None:
    """jhu-clsp/ettin-decoder-17m: the class halves local_attention, but a sliding_window in the file stays."""
    windows = {mixer.support.window for mixer in mixers(model_type="modernbert-decoder", local_attention=128)}
    assert windows == {None, 64}
    saved = mixers(model_type="modernbert-decoder", local_attention=128, sliding_window=100, causal_mask=True)
    assert {mixer.support.window for mixer in saved} == {None, 100}
    with pytest.raises(SpecError, match="is_causal"):
        result(model_type="modernbert-decoder", is_causal=False)


def test_first_files_of_lfm2_name_the_base_twice() -> None:
    keys = {"model_type": "lfm2", "rope_theta": 1e6}
    assert mixers(**keys, theta=1e6) == mixers(**keys)
    with pytest.raises(SpecError, match="theta"):
        result(**keys, theta=1e4)


@pytest.mark.parametrize("key", ["theta", "is_causal", "ntk_alpha", "allow_neg_eigval", "mamba_ngroups"])
def test_names_of_parts_of_a_mixer_are_not_passed_over(key: str) -> None:
    with pytest.raises(SpecError, match=key):
        result(model_type="llama", **{key: 2})
