"""Files of flash-linear-attention: each quirk of fla-core 0.6.0 by the numbers of its layers."""

import json
import math
from typing import Any

import pytest

from designspace.candidate import Candidate
from designspace.cost import cost
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec
from designspace.outside import Outside

HYBRID = (
    *("gla", "delta_net", "gated_deltanet", "kda", "comba", "gated_deltaproduct", "retnet", "linear_attn", "hgrn"),
    *("hgrn2", "rwkv6", "rwkv7", "samba", "abc", "gsa", "mesa_net", "mom", "deltaformer", "raven", "lightnet"),
    *("precond_gated_deltanet", "precond_kda"),
)
OUTSIDE = {
    "abc": ("history_dependent", "64 slots"),
    "gsa": ("history_dependent", "64 slots"),
    "raven": ("history_dependent", "64 slots"),
    "mesa_net": ("history_dependent", "30 steps"),
    "lightnet": ("history_dependent", "running sum"),
    "precond_gated_deltanet": ("history_dependent", "second recurrence"),
    "precond_kda": ("history_dependent", "second recurrence"),
    "nsa": ("sparse_support", "16 blocks of 64"),
    "moba": ("sparse_support", "4 blocks of 256"),
    "mom": ("sparse_support", "2 of 4 states"),
    "stickbreaking_attn": ("joint_readout", "other keys"),
    "deltaformer": ("joint_readout", "other keys"),
    "parallax": ("joint_readout", "other keys"),
}


def imported(model_type: str, **keys: Any) -> Imported:
    data = {"model_type": model_type, "vocab_size": 32000, **keys}
    return import_config(parse(json.dumps(data), "config.json", special_numbers=True))


def layer_mixers(candidate: Candidate) -> list[MixerSpec]:
    return [mixer for block in candidate.blocks for _ in range(block.repeat) for mixer in block.mixers]


def mixer(model_type: str, **keys: Any) -> MixerSpec:
    return layer_mixers(imported(model_type, **keys).candidate)[0]


@pytest.mark.parametrize("model_type", HYBRID)
def test_attn_puts_softmax_into_the_layers_it_names(model_type: str) -> None:
    attn = {
        "layers": [1, 4],
        "num_heads": 16,
        "num_kv_heads": 4,
        "qkv_bias": True,
        "window_size": 128,
        "rope_theta": 5e4,
    }
    result = imported(model_type, hidden_size=2048, num_hidden_layers=6, attn=attn)
    flat = [block.mixer for block in result.candidate.blocks for _ in range(block.repeat)]
    softmax = [
        index for index, one in enumerate(flat) if isinstance(one, MixerSpec) and one.readout.kind == "exponential"
    ]
    assert (softmax, result.unknown) == ([1, 4], ())
    found = flat[4]
    assert isinstance(found, MixerSpec)
    assert (found.heads.num_heads, found.heads.groups, found.heads.head_dim) == (16, 4, 128)
    assert (found.support.window, found.rotation.theta, found.rotation.pairing) == (128, 5e4, "half")


def test_attn_may_be_a_list_with_other_heads_for_other_layers() -> None:
    attn = [{"layers": [0], "num_heads": 8}, {"layers": [2], "num_heads": 16, "window_size": 64}]
    mixers = layer_mixers(imported("gla", num_hidden_layers=3, attn=attn).candidate)
    assert [one.heads.num_heads for one in mixers] == [8, 4, 16]
    assert [one.support.window for one in mixers] == [None, None, 64]


@pytest.mark.parametrize(
    ("attn", "key"),
    [
        ({"layers": [9], "num_heads": 8}, "layers"),
        ({"layers": [0, 0], "num_heads": 8}, "layers"),
        ({"layers": [-1], "num_heads": 8}, "layers"),
        ({"num_heads": 8}, "layers"),
        ({"layers": [0]}, "num_heads"),
        ({"layers": [0], "num_heads": 7}, "num_heads"),
        ({"layers": [0], "num_heads": 8, "num_kv_heads": 3}, "num_kv_heads"),
        ({"layers": [0], "num_heads": 8, "window_size": 0}, "window_size"),
        ({"layers": [0], "num_heads": 8, "qk_norm": True}, "qk_norm"),
        ({"layers": [0], "num_heads": 8, "rope_scaling": {"factor": 2}}, "rope_scaling"),
        ([{"layers": [0], "num_heads": 8}, {"layers": [0], "num_heads": 8}], "layers"),
        ([7], "attn"),
        ("all", "attn"),
    ],
)
def test_an_attn_without_meaning_is_bad_input(attn: object, key: str) -> None:
    with pytest.raises(SpecError, match=key):
        imported("delta_net", num_hidden_layers=4, attn=attn)


def test_channel_mixer_is_rounded_up_to_256_unless_the_width_is_given() -> None:
    assert imported("gla", hidden_size=1024).candidate.blocks[0].channel_mixer.ratio == 2816 / 1024
    assert imported("gla", hidden_size=1024, hidden_ratio=2).candidate.blocks[0].channel_mixer.ratio == 1536 / 1024
    assert (
        imported("gla", hidden_size=1024, intermediate_size=1000).candidate.blocks[0].channel_mixer.ratio == 1000 / 1024
    )


def test_retnet_has_a_hidden_ratio_of_2_but_null_means_4() -> None:
    assert imported("retnet").candidate.blocks[0].channel_mixer.ratio == 2816 / 2048
    assert imported("retnet", hidden_ratio=None).candidate.blocks[0].channel_mixer.ratio == 5632 / 2048


def test_rwkv_channel_mixers_are_plain_and_rounded_up_to_32() -> None:
    channel = imported("rwkv6", hidden_size=768, num_heads=4, hidden_ratio=3.51).candidate.blocks[0].channel_mixer
    assert (channel.kind, channel.ratio) == ("mlp", 2720 / 768)


def test_gla_sizes_gate_and_floor() -> None:
    one = mixer("gla", hidden_size=1024, num_heads=4, num_kv_heads=2, expand_k=0.5, expand_v=1, clamp_min=-1.0)
    assert (one.heads.state_dim, one.heads.head_dim, one.heads.groups) == (128, 256, 2)
    assert one.decay.range == (math.exp(-1.0), 1.0)
    assert (one.io.gate, mixer("gla", use_output_gate=False).io.gate) == ("silu", "none")
    assert mixer("gla", hidden_act="sigmoid").io.gate == "sigmoid"


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("gla", "use_gk", False),
        ("gla", "use_gv", True),
        ("gla", "gate_logit_normalizer", 8),
        ("gla", "clamp_min", 0.5),
        ("gla", "feature_map", "elu"),
        ("gla", "expand_k", 0.3),
        ("gla", "hidden_act", "relu"),
        ("delta_net", "use_output_norm", False),
        ("delta_net", "share_conv_kernel", True),
        ("gated_deltanet", "use_mamba_gate", False),
        ("delta_net", "qk_norm", "rms"),
        ("delta_net", "qk_activation", "gelu"),
        ("comba", "use_inner_decay", False),
        ("comba", "use_output_correction", False),
        ("gated_deltaproduct", "num_householder", 5),
        ("gated_deltaproduct", "num_v_heads", 12),
        ("gated_deltanet", "num_v_heads", 7),
        ("gated_deltanet", "output_gate_activation", "tanh"),
        ("retnet", "use_short_conv", True),
        ("retnet", "num_heads", 4),
        ("linear_attn", "norm_q", True),
        ("linear_attn", "feature_map", "cosine"),
        ("kda", "lower_bound", -5.0),
        ("hgrn2", "num_heads", 8),
        ("hgrn2", "expand_ratio", 100),
        ("mla", "qk_head_dim", 128),
        ("mamba3", "is_mimo", True),
        ("mamba3", "rope_fraction", 0.25),
        ("log_linear_mamba2", "num_heads", 7),
        ("rwkv7", "num_heads", 16),
        ("rwkv7", "value_dim", 1000),
        ("rwkv7", "value_dim", [2048]),
        ("rodimus", "block_type", "other"),
        ("rodimus", "num_hidden_layers", 4),  # rodimus_plus without ska_attn
        ("samba", "intermediate_size", 4096),
        ("transformer", "rope_scaling", {"rope_type": "linear", "factor": 2.0}),
    ],
)
def test_what_the_code_does_not_do_is_an_error(model_type: str, key: str, value: object) -> None:
    with pytest.raises(SpecError, match="ska_attn" if model_type == "rodimus" and key != "block_type" else key):
        imported(model_type, **{key: value})


def test_deltanet_beta_activation_and_norm() -> None:
    assert mixer("delta_net").erase.gain == (0.0, 1.0)
    assert mixer("delta_net", allow_neg_eigval=True).erase.gain == (0.0, 2.0)
    assert mixer("delta_net", use_beta=False).erase.gain == (1.0, 1.0)
    one = mixer("delta_net", qk_activation="elu", qk_norm="sum", use_short_conv=False, use_gate=True)
    assert (one.features.map, one.features.norm, one.io.short_conv.width, one.io.gate) == ("elu+1", "sum", 0, "silu")


def test_gated_deltanet_may_have_more_value_heads_than_key_heads() -> None:
    one = mixer(
        "gated_deltanet", num_heads=4, num_v_heads=8, head_dim=128, expand_v=1.5, output_gate_activation="sigmoid"
    )
    assert (one.heads.num_heads, one.heads.groups, one.heads.shared) == (8, 4, "qk")
    assert (one.heads.state_dim, one.heads.head_dim, one.io.gate) == (128, 192, "sigmoid")


def test_gated_deltaproduct_has_one_step_and_no_forget_gate_by_default() -> None:
    plain = mixer("gated_deltaproduct")
    assert (plain.erase.rank, plain.decay.granularity, plain.erase.gain) == (1, "none", (0.0, 1.0))
    full = mixer("gated_deltaproduct", num_householder=3, use_forget_gate=True, allow_neg_eigval=True)
    assert (full.erase.rank, full.decay.granularity, full.erase.gain) == (3, "scalar", (0.0, 2.0))


def test_kda_safe_gate_bounds_the_decay_from_below() -> None:
    safe = mixer("kda", safe_gate=True, lower_bound=-5)
    assert (safe.decay.map, safe.decay.range) == ("exp_lb_sigmoid", (math.exp(-5), 1.0))
    assert (mixer("kda").decay.map, safe.io.gate) == ("exp_softplus", "sigmoid")


def test_retnet_decays_are_those_of_its_heads() -> None:
    from designspace.decay import schedule

    one = mixer("retnet", num_heads=16)
    assert schedule(one.decay, 16) == pytest.approx([1 - 2.0 ** (-5 - head) for head in range(16)])
    assert (one.heads.state_dim, one.heads.head_dim, one.rotation.theta) == (128, 256, 10000.0)


@pytest.mark.parametrize(
    ("name", "expected", "width"),
    [
        ("elementwise_product", "hadamard", 512),
        ("elu", "elu+1", 512),
        ("t2r", "relu", 512),
        ("identity", "identity", 512),
        ("hedgehog", "softmax_pm", 1024),
        ("dpfp", "dpfp", 4096),
    ],
)
def test_linear_attention_scales_by_the_width_after_the_map(name: str, expected: str, width: int) -> None:
    one = mixer("linear_attn", feature_map=name, norm_feature_map=True)
    assert (one.features.map, one.key_dim) == (expected, width)
    assert one.base == pytest.approx(width**-0.5)
    assert one.normalization.kind == "sum"


def test_hgrn_widths() -> None:
    assert mixer("hgrn", hidden_size=1024, expand_ratio=2).heads.num_heads == 2048
    assert mixer("hgrn2", hidden_size=1024, expand_ratio=64).heads.num_heads == 16
    assert mixer("hgrn2", hidden_size=1024, expand_ratio=None, num_heads=4).heads.state_dim == 256
    assert mixer("hgrn", use_lower_bound=False).decay.map == "sigmoid"


def test_transformer_norm_window_and_heads() -> None:
    one = mixer("transformer", num_heads=16, num_kv_heads=4, qk_norm=True, window_size=512, rope_theta=5e5)
    assert (one.heads.num_heads, one.heads.groups, one.heads.state_dim) == (16, 4, 128)
    assert (one.features.norm, one.support.window, one.rotation.theta) == ("rms_weighted", 512, 5e5)
    assert mixer("transformer").features.norm == "none"


def test_forgetting_transformer_and_wall_have_no_rotation() -> None:
    fox = mixer("forgetting_transformer", qk_norm=True, use_output_gate=True)
    wall = mixer("wall_transformer", use_scalar_gate=True, window_size=64)
    assert (fox.shear.source, fox.rotation.source, fox.features.norm, fox.io.gate) == (
        "input",
        "none",
        "rms_weighted",
        "sigmoid",
    )
    assert (wall.decay.granularity, wall.shear.source, wall.support.window) == ("diagonal", "input", 64)
    assert wall.decay.initial == pytest.approx((0.99852, 0.999924), rel=1e-4)  # sigmoid(8 -+ 1.645 * 0.02 * sqrt(2048))


def test_path_forget_gate_is_scaled() -> None:
    assert mixer("path_attn").shear.source == "none"
    gated = mixer("path_attn", use_forget_gate=True)
    assert (gated.shear.source, gated.shear.scaled, gated.erase.gain) == ("input", True, (0.0, 2.0))


def test_mla_caches_the_latent_and_scales_by_mscale() -> None:
    scaling = {"rope_type": "yarn", "factor": 40.0, "mscale_all_dim": 0.707, "beta_fast": 32}
    result = imported("mla", rope_scaling=scaling, num_hidden_layers=2)
    one = result.candidate.blocks[0].mixers[0]
    assert one.base == pytest.approx(192**-0.5 * (0.1 * 0.707 * math.log(40) + 1) ** 2)
    assert one.rotation.fraction == pytest.approx(1 / 3)
    assert (one.rotation.scaling, one.rotation.pairing) == (None, "half")
    target = result.candidate.target.model_copy(update={"seq_len": 1, "dtype": "bfloat16"})
    assert cost(result.candidate.model_copy(update={"target": target})).memory_bytes == 2 * 2 * (512 + 64)


def test_rwkv7_values_may_widen_by_layer() -> None:
    mixers = layer_mixers(imported("rwkv7", num_hidden_layers=2, value_dim=[2048, 4096]).candidate)
    assert [(one.heads.state_dim, one.heads.head_dim) for one in mixers] == [(64, 64), (64, 128)]
    assert mixers[0].io.norm_eps == pytest.approx(64e-5)


def test_rwkv7_files_of_every_width_say_32_heads() -> None:
    mixer = layer_mixers(imported("rwkv7", hidden_size=768, head_dim=64, num_heads=32, value_dim=768).candidate)[0]
    assert (mixer.heads.num_heads, mixer.heads.state_dim) == (12, 64)


def test_mla_as_transformers_5_saves_it() -> None:
    saved = {"rope_type": "yarn", "factor": 40.0, "mscale_all_dim": 0.707, "rope_theta": 10000.0}
    one = mixer("mla", rope_parameters=saved, rope_theta=10000.0)
    assert one.base == mixer("mla", rope_scaling=saved).base
    with pytest.raises(SpecError, match="rope_theta"):
        imported("mla", rope_parameters=saved, rope_theta=500.0)


def test_rwkv_state_holds_the_matrices_and_one_input() -> None:
    for model_type, keys in (("rwkv7", {}), ("rwkv6", {"num_heads": 32, "expand_k": 1.0})):
        candidate = imported(model_type, num_hidden_layers=3, max_position_embeddings=1, **keys).candidate
        data = candidate.model_dump(mode="json", by_alias=True)
        data["blocks"][0]["mixer"]["execution"]["dtype"]["state"] = "bfloat16"
        measured = cost(Candidate.model_validate(data)).memory_bytes
        assert measured == 3 * 2 * (32 * 64 * 64 + 2048)


@pytest.mark.parametrize("model_type", ["gla", "hgrn2", "retnet", "abc", "lightnet"])
def test_keys_of_a_convolution_that_is_off_do_not_matter(model_type: str) -> None:
    result = imported(model_type, use_short_conv=False, conv_size=4, share_conv_kernel=True)
    assert result.unknown == ()
    assert imported(model_type).candidate.blocks == result.candidate.blocks


def test_samba_alternates_unless_attn_is_null() -> None:
    kinds = [one.readout.kind for one in layer_mixers(imported("samba", num_hidden_layers=20).candidate)]
    assert kinds == ["identity", "exponential"] * 9 + ["identity"] * 2
    assert {one.readout.kind for one in layer_mixers(imported("samba", attn=None).candidate)} == {"identity"}


def test_samba_channel_mixer_does_not_follow_intermediate_size() -> None:
    blocks = imported("samba", hidden_size=2304, intermediate_size=4608).candidate.blocks
    assert {block.channel_mixer.ratio for block in blocks} == {6144 / 2304}
    assert blocks[0].mixers[0].heads.num_heads == 4608


def test_mamba_relatives() -> None:
    log_linear = imported("log_linear_mamba2", hidden_size=1024, rmsnorm=False).candidate.blocks[0]
    assert (log_linear.mixers[0].lift.kind, log_linear.mixers[0].heads.num_heads) == ("fenwick", 32)
    assert (log_linear.mixers[0].io.output_norm, log_linear.channel_mixer.ratio) == ("none", 2.75)
    third = imported("mamba3", rope_fraction=1.0, is_outproj_norm=True, n_groups=4).candidate.blocks[0]
    assert (third.mixers[0].rotation.fraction, third.mixers[0].heads.groups) == (1.0, 4)
    assert (third.mixers[0].io.output_norm, third.channel_mixer.kind) == ("head_rms", "none")


def test_rodimus_plus_is_two_blocks_for_each_layer() -> None:
    ska = {"num_heads": 32, "qk_norm": True}
    blocks = imported("rodimus", num_hidden_layers=2, ska_attn=ska).candidate.blocks
    assert [block.mixers[0].readout.kind for block in blocks] == ["identity", "exponential"] * 2
    assert [block.channel_mixer.kind for block in blocks] == ["none", "swiglu"] * 2
    assert (blocks[1].mixers[0].support.window, blocks[1].mixers[0].features.norm) == (1024, "rms_weighted")
    assert (blocks[0].mixers[0].heads.num_heads, blocks[0].mixers[0].heads.head_dim) == (1, 4096)


@pytest.mark.parametrize("model_type", OUTSIDE)
def test_outside_the_grammar_with_the_reason_and_the_nearest(model_type: str) -> None:
    result = imported(model_type)
    kind, words = OUTSIDE[model_type]
    for block in result.candidate.blocks:
        assert isinstance(block.mixer, Outside)
        assert (block.mixer.outside, words in block.mixer.reason) == (kind, True)
        assert block.mixer.nearest is not None
    assert (result.verdict, result.unknown) == ("unsupported", ())


def test_nearest_of_nsa_has_the_heads_of_the_file() -> None:
    block = imported("nsa", num_heads=32, num_kv_heads=2, head_dim=128).candidate.blocks[0]
    assert isinstance(block.mixer, Outside)
    assert block.mixer.nearest is not None
    heads = block.mixer.nearest.heads
    assert (heads.num_heads, heads.groups, heads.state_dim) == (32, 2, 128)
