"""Layer files from transformers: pre-activations and parameters in, input of the output projection out.

What a layer makes of its pre-activations (feature maps, norms, gates, step sizes, decays, angles, output norm and gate)
is the published code; the tests compare it with `workers.realise` and the output stage of our mixer.
"""

import math
from pathlib import Path
from typing import Any

import torch
from case import GOLDEN, Draw, LayerCase, LayerReference, main
from tiny_models import ATTENTION, HEADS, HIDDEN, KV_HEADS, TINY, WIDTH, caught, tiny_model
from torch import Tensor
from transformers.models.bloom.modeling_bloom import BloomConfig, BloomModel
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Config, DeepseekV3Model
from transformers.models.falcon.modeling_falcon import FalconConfig, FalconModel
from transformers.models.falcon_mamba.modeling_falcon_mamba import FalconMambaConfig, FalconMambaModel
from transformers.models.gemma2.modeling_gemma2 import Gemma2Config, Gemma2Model
from transformers.models.glm.modeling_glm import GlmConfig, GlmModel
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssConfig, GptOssModel
from transformers.models.hunyuan_v1_dense.modeling_hunyuan_v1_dense import HunYuanDenseV1Config, HunYuanDenseV1Model
from transformers.models.kimi_linear.modeling_kimi_linear import KimiLinearConfig, KimiLinearModel
from transformers.models.lfm2.modeling_lfm2 import Lfm2Config, Lfm2Model
from transformers.models.llama.modeling_llama import LlamaConfig, LlamaModel
from transformers.models.llama4.modeling_llama4 import Llama4TextConfig, Llama4TextModel
from transformers.models.mamba.modeling_mamba import MambaConfig, MambaModel
from transformers.models.mamba2.modeling_mamba2 import Mamba2Config, Mamba2Model
from transformers.models.minimax.modeling_minimax import MiniMaxConfig, MiniMaxModel
from transformers.models.mistral.modeling_mistral import MistralConfig, MistralModel
from transformers.models.olmo2.modeling_olmo2 import Olmo2Config, Olmo2Model
from transformers.models.qwen3.modeling_qwen3 import Qwen3Config, Qwen3Model
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextConfig, Qwen3NextModel
from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaConfig, RecurrentGemmaRglru
from transformers.models.rwkv.modeling_rwkv import RwkvConfig, RwkvModel
from transformers.models.xlstm.modeling_xlstm import xLSTMConfig, xLSTMModel

LAYERS = Path(GOLDEN) / "layers"
CHANNELS, STATE = 6, 4
SIZES = {"num_heads": HEADS, "state_dim": WIDTH, "head_dim": WIDTH, "kv_groups": KV_HEADS}
CHANNEL_SIZES = {"num_heads": CHANNELS, "state_dim": 1, "kv_groups": None}


def _streams(x: Tensor, count: int) -> Tensor:
    """[1, T, count * width] to [T, count, width]."""
    return x.reshape(x.shape[1], count, -1)


def _attention(
    draw: Draw,
    model: Any,
    fields: dict[str, Any],
    *,
    gains: tuple[str, str] | None = None,
    gain_offset: float = 0.0,
) -> LayerCase:
    """A softmax layer with projections of the usual names and, if it has them, weighted norms of q and k."""
    attention = model.layers[0].self_attn
    parts = {name: getattr(attention, f"{name}_proj") for name in ("q", "k", "v")}
    found = caught(draw, model, parts, attention.o_proj)
    raw = {"q": _streams(found["q"], HEADS)} | {name: _streams(found[name], KV_HEADS) for name in ("k", "v")}
    parameters = {}
    if gains is not None:
        weights = (getattr(attention, name).weight + gain_offset for name in gains)
        parameters = dict(zip(("q_gain", "k_gain"), weights, strict=True))
    reference = f"transformers {type(attention).__name__}"
    return LayerCase(reference, raw, parameters, found["y"][0], {"heads": SIZES} | fields)


def _theta(model: Any) -> float:
    return float(model.config.rope_parameters["rope_theta"])


def _rms(model: Any) -> dict[str, Any]:
    return {"eps": model.config.rms_norm_eps, "eps_kind": "mean"}


def softmax_rope(draw: Draw) -> LayerCase:
    """Llama."""
    model = tiny_model(draw, LlamaModel, LlamaConfig(**ATTENTION))
    return _attention(draw, model, {"rotation": {"theta": _theta(model)}})


def softmax_rope_llama3(draw: Draw) -> LayerCase:
    """Llama 3.1: low frequencies are stretched."""
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    rope = {"rope_type": "llama3", "rope_theta": 500.0, "original_max_position_embeddings": 64, **scaling}
    model = tiny_model(draw, LlamaModel, LlamaConfig(**ATTENTION, rope_parameters=rope, max_position_embeddings=512))
    ours = {"kind": "llama3", "factor": 8.0, "low": 1.0, "high": 4.0, "original_length": 64}
    return _attention(draw, model, {"rotation": {"theta": 500.0, "scaling": ours}})


def softmax_partial_rope(draw: Draw) -> LayerCase:
    """GLM-4: half of the channels rotate, in interleaved pairs."""
    model = tiny_model(draw, GlmModel, GlmConfig(**ATTENTION, pad_token_id=None))
    return _attention(draw, model, {"rotation": {"theta": _theta(model), "fraction": 0.5, "pairing": "interleaved"}})


def softmax_window(draw: Draw) -> LayerCase:
    """Mistral with a window of 5 keys."""
    model = tiny_model(draw, MistralModel, MistralConfig(**ATTENTION, sliding_window=5))
    return _attention(draw, model, {"rotation": {"theta": _theta(model)}, "support": {"window": 5}})


def softmax_softcap(draw: Draw) -> LayerCase:
    """Gemma 2: softcap 5 on the scores, scale from query_pre_attn_scalar, window 6."""
    config = Gemma2Config(
        **ATTENTION,
        layer_types=["sliding_attention"],
        sliding_window=6,
        attn_logit_softcapping=5.0,
        query_pre_attn_scalar=3,
    )
    model = tiny_model(draw, Gemma2Model, config)
    fields = {"rotation": {"source": "constant", "theta": _theta(model)}, "support": {"window": 6}}
    fields |= {"readout": {"softcap": 5.0}, "scaling": {"base": 3.0**-0.5}}
    return _attention(draw, model, fields)


def softmax_sink(draw: Draw) -> LayerCase:
    """gpt-oss: sinks, and YaRN angles whose attention factor acts on q and k."""
    config = GptOssConfig(**ATTENTION, layer_types=["full_attention"], num_local_experts=2, num_experts_per_tok=1)
    model = tiny_model(draw, GptOssModel, config)
    rope = config.rope_parameters
    scaling = {
        "kind": "yarn",
        "factor": rope["factor"],
        "original_length": rope["original_max_position_embeddings"],
        "beta_fast": rope["beta_fast"],
        "beta_slow": rope["beta_slow"],
        "truncate": rope.get("truncate", True),
    }
    factor = 0.1 * math.log(rope["factor"]) + 1.0
    rotation = {"source": "constant", "theta": _theta(model), "scaling": scaling, "attention_factor": factor}
    case = _attention(draw, model, {"rotation": rotation})
    case.parameters["sink"] = model.layers[0].self_attn.sinks
    return case


def softmax_qknorm(draw: Draw) -> LayerCase:
    """Qwen3."""
    model = tiny_model(draw, Qwen3Model, Qwen3Config(**ATTENTION))
    fields = {"rotation": {"theta": _theta(model)}, "features": _rms(model)}
    return _attention(draw, model, fields, gains=("q_norm", "k_norm"))


def softmax_qknorm_all_heads(draw: Draw) -> LayerCase:
    """OLMo 2: one norm over all heads."""
    model = tiny_model(draw, Olmo2Model, Olmo2Config(**ATTENTION))
    features = {"norm_over": "all_heads", "gain_shared": False} | _rms(model)
    fields = {"rotation": {"theta": _theta(model)}, "features": features}
    case = _attention(draw, model, fields, gains=("q_norm", "k_norm"))
    for name, streams in (("q_gain", HEADS), ("k_gain", KV_HEADS)):
        case.parameters[name] = case.parameters[name].view(streams, WIDTH)
    return case


def softmax_qknorm_after_rotation(draw: Draw) -> LayerCase:
    """HunYuan: a weighted norm after the rotation, which does not commute with it."""
    model = tiny_model(draw, HunYuanDenseV1Model, HunYuanDenseV1Config(**ATTENTION))
    fields = {
        "rotation": {"theta": _theta(model)},
        "features": {"norm_order": "after_rotation"} | _rms(model),
    }
    return _attention(draw, model, fields, gains=("query_layernorm", "key_layernorm"))


def softmax_chunked(draw: Draw) -> LayerCase:
    """Llama 4: chunks of 7 keys, interleaved pairs, weightless RMS norm after the rotation."""
    config = Llama4TextConfig(
        **ATTENTION,
        intermediate_size_mlp=16,
        layer_types=["chunked_attention"],
        no_rope_layers=[1],
        attention_chunk_size=7,
        moe_layers=[],
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    model = tiny_model(draw, Llama4TextModel, config)
    fields = {
        "rotation": {"theta": _theta(model), "pairing": "interleaved"},
        "features": {"norm": "rms", "norm_order": "after_rotation"} | _rms(model),
        "support": {"chunk": 7},
    }
    return _attention(draw, model, fields)


def gated_softmax(draw: Draw) -> LayerCase:
    """Qwen3-Next; its norm weights are 1 + w."""
    config = Qwen3NextConfig(**ATTENTION, layer_types=["full_attention"], num_experts=0)
    model = tiny_model(draw, Qwen3NextModel, config)
    fields = {"rotation": {"theta": _theta(model)}, "features": _rms(model)}
    case = _attention(draw, model, fields, gains=("q_norm", "k_norm"), gain_offset=1.0)
    queries, gate = case.raw["q"].split(WIDTH, dim=-1)
    case.raw["q"] = queries
    case.stage["gate"] = gate.reshape(draw.seq_len, -1)
    return case


def softmax_alibi(draw: Draw) -> LayerCase:
    """Bloom."""
    model = tiny_model(draw, BloomModel, BloomConfig(vocab_size=8, hidden_size=HIDDEN, n_layer=1, n_head=HEADS))
    return _fused_alibi(draw, model, scaled=False)


def softmax_alibi_falcon(draw: Draw) -> LayerCase:
    """Falcon, with sdpa: the eager path of transformers 5.24 adds the bias twice."""
    config = FalconConfig(
        vocab_size=8, hidden_size=HIDDEN, num_hidden_layers=1, num_attention_heads=HEADS, alibi=True, multi_query=False
    )
    return _fused_alibi(draw, tiny_model(draw, FalconModel, config, implementation="sdpa"), scaled=True)


def _fused_alibi(draw: Draw, model: Any, *, scaled: bool) -> LayerCase:
    attention = model.h[0].self_attention
    found = caught(draw, model, {"qkv": attention.query_key_value}, attention.dense)
    parts = _streams(found["qkv"], HEADS).split(WIDTH, dim=-1)
    fields = {"heads": SIZES | {"kv_groups": None}, "shear": {"scaled": scaled}}
    raw = dict(zip(("q", "k", "v"), parts, strict=True))
    return LayerCase(f"transformers {type(attention).__name__} (alibi)", raw, {}, found["y"][0], fields)


def mla(draw: Draw) -> LayerCase:
    """DeepSeek-V2-Lite: keys and values of all heads from one latent; the rotating channels come first here.

    YaRN with `mscale` = `mscale_all_dim`, as in the published models: it multiplies the scores, not the angles.
    """
    heads, latent, own, rotating, value = 2, 5, 6, 4, 7
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "original_max_position_embeddings": 64}
    config = DeepseekV3Config(
        **TINY,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        q_lora_rank=None,
        kv_lora_rank=latent,
        qk_nope_head_dim=own,
        qk_rope_head_dim=rotating,
        v_head_dim=value,
        first_k_dense_replace=1,
        rope_parameters=rope | {"mscale": 0.707, "mscale_all_dim": 0.707, "beta_fast": 32, "beta_slow": 1},
        max_position_embeddings=2560,
    )
    model = tiny_model(draw, DeepseekV3Model, config)
    attention = model.layers[0].self_attn
    parts = {"q": attention.q_proj, "down": attention.kv_a_proj_with_mqa}
    found = caught(draw, model, parts, attention.o_proj)
    fixed, turning = _streams(found["q"], heads).split([own, rotating], dim=-1)
    compressed, shared = found["down"].split([latent, rotating], dim=-1)
    scaling = {"kind": "yarn", "factor": 40.0, "original_length": 64, "beta_fast": 32.0, "beta_slow": 1.0}
    fields = {
        "heads": {"num_heads": heads, "state_dim": own + rotating, "head_dim": value}
        | {"latent_dim": latent, "shared_key_dim": rotating},
        "rotation": {"fraction": rotating / (own + rotating), "theta": 10000.0, "scaling": scaling},
        "scaling": {"base": (own + rotating) ** -0.5 * (0.1 * 0.707 * math.log(40.0) + 1.0) ** 2},
    }
    raw = {
        "q": torch.cat([turning, fixed], dim=-1),
        "latent": _streams(compressed, 1),
        "shared_key": _streams(shared, 1),
    }
    maps = {"norm": attention.kv_a_layernorm.weight, "up": attention.kv_b_proj.weight}
    return LayerCase("transformers DeepseekV3Attention", raw, {}, found["y"][0], fields, latent=maps)


def lightning_minimax(draw: Draw) -> LayerCase:
    """MiniMax-01, the first of two layers, in blocks of 8 tokens."""
    heads = 4
    config = MiniMaxConfig(
        **ATTENTION | {"num_hidden_layers": 2, "num_attention_heads": heads, "num_key_value_heads": heads},
        layer_types=["linear_attention", "full_attention"],
        block_size=8,
        num_local_experts=2,
    )
    model = tiny_model(draw, MiniMaxModel, config)
    attention = model.layers[0].self_attn
    parts = {"qkv": attention.qkv_proj, "gate": attention.output_gate}
    found = caught(draw, model, parts, attention.out_proj)
    decays = [math.exp(-float(attention.slope_rate[head, 0, 0])) for head in (0, -1)]
    fields = {
        "heads": SIZES | {"num_heads": heads, "kv_groups": None},
        "decay": {"initial": decays},
        "io": {"norm_eps": attention.norm.variance_epsilon},
    }
    raw = dict(zip(("q", "k", "v"), _streams(found["qkv"], heads).split(WIDTH, dim=-1), strict=True))
    stage = {"gate": found["gate"][0], "weight": attention.norm.weight}
    return LayerCase("transformers MiniMaxLightningAttention", raw, {}, found["y"][0], fields, stage)


def lfm2_shortconv(draw: Draw) -> LayerCase:
    """LFM2: y = C * conv3(B * x)."""
    model = tiny_model(draw, Lfm2Model, Lfm2Config(**TINY, num_attention_heads=HEADS, layer_types=["conv"]))
    conv = model.layers[0].conv
    found = caught(draw, model, {"all": conv.in_proj}, conv.out_proj)
    raw = dict(zip(("k", "q", "v"), (_streams(x, HIDDEN) for x in found["all"].chunk(3, dim=-1)), strict=True))
    fields = {"heads": {"num_heads": HIDDEN}}
    return LayerCase("transformers Lfm2ShortConv", raw, {"taps": conv.conv.weight.flip(-1)}, found["y"][0], fields)


def _convolved(layer: Any, x: Tensor) -> Tensor:
    """The layer's short convolution of [1, T, channels] without its activation."""
    return layer.conv1d(x.mT)[..., : x.shape[1]].mT  # type: ignore[no-any-return]


def mamba(draw: Draw) -> LayerCase:
    """Mamba: dt, B and C are projected from the convolved channels."""
    config = MambaConfig(
        vocab_size=8, hidden_size=CHANNELS, state_size=STATE, num_hidden_layers=1, time_step_rank=3, expand=1
    )
    model = tiny_model(draw, MambaModel, config)
    return _selective(draw, model, {})


def falcon_mamba(draw: Draw) -> LayerCase:
    """Falcon Mamba: RMS norms of B, C and the low-rank dt."""
    config = FalconMambaConfig(
        vocab_size=8,
        hidden_size=CHANNELS,
        intermediate_size=CHANNELS,
        state_size=STATE,
        num_hidden_layers=1,
        time_step_rank=3,
        expand=1,
    )
    model = tiny_model(draw, FalconMambaModel, config)
    return _selective(draw, model, {"features": {"eps": config.mixer_rms_eps, "eps_kind": "mean"}})


def _selective(draw: Draw, model: Any, fields: dict[str, Any]) -> LayerCase:
    mixer = model.layers[0].mixer
    mixer.dt_proj.bias.copy_(draw.uniform(CHANNELS, low=-4.0, high=0.0))
    found = caught(draw, model, {"all": mixer.in_proj, "selection": mixer.x_proj}, mixer.out_proj)
    x, z = found["all"].chunk(2, dim=-1)
    low_rank, k, q = found["selection"].split([3, STATE, STATE], dim=-1)
    if hasattr(mixer, "dt_layernorm"):
        low_rank = mixer.dt_layernorm(low_rank)
    raw = {"q": _streams(q, 1), "k": _streams(k, 1), "v": _streams(_convolved(mixer, x), CHANNELS)}
    raw["gate"] = _streams(low_rank @ mixer.dt_proj.weight.mT, CHANNELS)
    parameters = {"decay_rate": mixer.A_log, "gate_bias": mixer.dt_proj.bias, "skip": mixer.D}
    sizes = {"num_heads": CHANNELS, "state_dim": STATE}
    reference = f"transformers {type(mixer).__name__}"
    return LayerCase(reference, raw, parameters, found["y"][0], {"heads": sizes} | fields, {"gate": z[0]})


def mamba2(draw: Draw) -> LayerCase:
    """Mamba-2: four heads in two groups, chunks of 8 tokens, RMS norm per group after the gate."""
    heads, groups = 4, 2
    config = Mamba2Config(
        vocab_size=8,
        hidden_size=HIDDEN,
        num_heads=heads,
        head_dim=WIDTH,
        state_size=STATE,
        n_groups=groups,
        chunk_size=8,
        num_hidden_layers=1,
    )
    model = tiny_model(draw, Mamba2Model, config)
    mixer = model.layers[0].mixer
    mixer.dt_bias.copy_(draw.uniform(heads, low=-4.0, high=0.0))
    found = caught(draw, model, {"all": mixer.in_proj}, mixer.out_proj)
    z, mixed, dt = found["all"].split([heads * WIDTH, mixer.conv_dim, heads], dim=-1)
    v, k, q = _convolved(mixer, mixed).split([heads * WIDTH, groups * STATE, groups * STATE], dim=-1)
    raw = {"q": _streams(q, groups), "k": _streams(k, groups), "v": _streams(v, heads), "gate": _streams(dt, heads)}
    parameters = {"decay_rate": mixer.A_log[:, None], "gate_bias": mixer.dt_bias, "skip": mixer.D}
    fields = {
        "heads": {"num_heads": heads, "state_dim": STATE, "head_dim": WIDTH, "kv_groups": groups},
        "io": {"norm_eps": mixer.norm.variance_epsilon},
    }
    stage = {"gate": z[0], "weight": mixer.norm.weight}
    return LayerCase("transformers Mamba2Mixer", raw, parameters, found["y"][0], fields, stage)


def gated_deltanet(draw: Draw) -> LayerCase:
    """Qwen3-Next: two key heads for four value heads."""
    heads, groups, value_width = 4, 2, 6
    config = Qwen3NextConfig(
        **ATTENTION,
        layer_types=["linear_attention"],
        num_experts=0,
        linear_num_value_heads=heads,
        linear_num_key_heads=groups,
        linear_key_head_dim=WIDTH,
        linear_value_head_dim=value_width,
    )
    model = tiny_model(draw, Qwen3NextModel, config)
    layer = model.layers[0].linear_attn
    found = caught(draw, model, {"qkvz": layer.in_proj_qkvz, "ba": layer.in_proj_ba}, layer.out_proj)
    *streams, z, gain, decay = layer.fix_query_key_value_ordering(found["qkvz"], found["ba"])
    mixed = torch.cat([x.reshape(1, draw.seq_len, -1) for x in streams], dim=-1)
    q, k, v = _convolved(layer, mixed).split([layer.key_dim, layer.key_dim, layer.value_dim], dim=-1)
    raw = {"q": _streams(q, groups), "k": _streams(k, groups), "v": _streams(v, heads)}
    raw |= {"decay": _streams(decay, heads), "gain": _streams(gain, heads)}
    parameters = {"decay_rate": layer.A_log[:, None], "decay_bias": layer.dt_bias[:, None]}
    sizes = {"num_heads": heads, "state_dim": WIDTH, "head_dim": value_width, "kv_groups": groups, "shared": "qk"}
    fields = {"heads": sizes, "io": {"norm_eps": layer.norm.variance_epsilon}}
    stage = {"gate": z.reshape(draw.seq_len, -1), "weight": layer.norm.weight}
    return LayerCase("transformers Qwen3NextGatedDeltaNet", raw, parameters, found["y"][0], fields, stage)


def kda(draw: Draw) -> LayerCase:
    """Kimi Linear: one rate per head, one bias per channel of the decay."""
    config = KimiLinearConfig(
        **ATTENTION | {"head_dim": None},
        layer_types=["linear_attention"],
        mlp_layer_types=["dense"],
        linear_head_dim=WIDTH,
        linear_num_heads=HEADS,
        pad_token_id=None,
    )
    model = tiny_model(draw, KimiLinearModel, config)
    layer = model.layers[0].self_attn
    parts = {name: getattr(layer, f"{name}_proj") for name in ("q", "k", "v", "b", "g_b")}
    found = caught(draw, model, parts | {"decay": layer.forget_gate.f_b_proj}, layer.o_proj)
    mixed = _convolved(layer, torch.cat([found[name] for name in ("q", "k", "v")], dim=-1))
    raw = dict(zip(("q", "k", "v"), (_streams(x, HEADS) for x in mixed.chunk(3, dim=-1)), strict=True))
    raw |= {"decay": _streams(found["decay"], HEADS), "gain": _streams(found["b"], HEADS)}
    parameters = {
        "decay_rate": layer.forget_gate.A_log.view(HEADS, 1).expand(-1, WIDTH),
        "decay_bias": layer.forget_gate.dt_bias.view(HEADS, WIDTH),
    }
    fields = {"heads": SIZES | {"kv_groups": None}, "io": {"norm_eps": layer.o_norm.variance_epsilon}}
    stage = {"gate": found["g_b"][0], "weight": layer.o_norm.weight}
    return LayerCase("transformers KimiLinearDeltaAttention", raw, parameters, found["y"][0], fields, stage)


def rg_lru(draw: Draw) -> LayerCase:
    """Griffin's unit alone, at positions 1, 2, ...: position 0, which is not rescaled, is none of them."""
    config = RecurrentGemmaConfig(
        hidden_size=CHANNELS, lru_width=CHANNELS, num_attention_heads=2, num_key_value_heads=1
    )
    unit = RecurrentGemmaRglru(config).double()
    for parameter in unit.parameters():
        parameter.copy_(draw.normal(*parameter.shape))
    x = draw.normal(1, draw.seq_len, CHANNELS).double()
    blocks = x[0].view(draw.seq_len, 2, -1)
    forget = torch.einsum("tbi,bio->tbo", blocks, unit.recurrent_gate_weight) + unit.recurrent_gate_bias
    write = torch.einsum("tbi,bio->tbo", blocks, unit.input_gate_weight) + unit.input_gate_bias
    y = unit(x, torch.arange(1, draw.seq_len + 1)[None])
    raw = {"v": x, "v_gate": write[None], "decay": forget[None]}
    return LayerCase(
        "transformers RecurrentGemmaRglru",
        {name: _streams(one, CHANNELS) for name, one in raw.items()},
        {"decay_rate": unit.recurrent_param[:, None], "decay_bias": torch.zeros(CHANNELS, 1)},
        y[0],
        {"heads": CHANNEL_SIZES, "io": {"gate": "none"}},
    )


def rwkv4(draw: Draw) -> LayerCase:
    """RWKV-4 after its token shift; the bonus is an exponent there, a factor here."""
    config = RwkvConfig(vocab_size=8, hidden_size=CHANNELS, attention_hidden_size=CHANNELS, num_hidden_layers=2)
    model = tiny_model(draw, RwkvModel, config)
    attention = model.blocks[0].attention
    attention.time_decay.copy_(draw.uniform(CHANNELS, low=-3.0, high=1.0))
    parts = {"key_logit": attention.key, "v": attention.value, "gate": attention.receptance}
    found = caught(draw, model, parts, attention.output)
    raw = {name: _streams(found[name], CHANNELS) for name in ("v", "key_logit")}
    parameters = {
        "decay_bias": attention.time_decay[:, None],
        "bonus": attention.time_first.exp()[:, None],
        "gate_bias": torch.zeros(CHANNELS),
    }
    stage = {"gate": found["gate"][0]}
    return LayerCase("transformers RwkvSelfAttention", raw, parameters, found["y"][0], {"heads": CHANNEL_SIZES}, stage)


def mlstm_exp(draw: Draw) -> LayerCase:
    """xLSTM 7B: gates capped at 15, layer norm per head, sigmoid output gate.

    The norm there has weights for each head; ours shares them, so the heads get the same.
    """
    config = xLSTMConfig(
        vocab_size=8,
        hidden_size=HIDDEN,
        num_hidden_layers=1,
        num_heads=HEADS,
        qk_dim_factor=1.0,
        chunk_size=16,
        autocast_kernel_dtype="float32",
    )
    model = tiny_model(draw, xLSTMModel, config)
    layer = model.blocks[0].mlstm_layer
    weight = layer.multihead_norm.weight.view(HEADS, -1)
    weight.copy_(weight[:1].expand_as(weight))
    names = {"q": "q", "k": "k", "v": "v", "gate": "igate_preact", "decay": "fgate_preact", "output": "ogate_preact"}
    found = caught(draw, model, {name: getattr(layer, module) for name, module in names.items()}, layer.out_proj)
    cap = config.gate_soft_cap
    found["decay"] = cap * torch.tanh(found["decay"] / cap)  # the cap of the forget gate is outside our map
    raw = {name: _streams(found[name], HEADS) for name in ("q", "k", "v", "gate", "decay")}
    parameters = {"gate_bias": torch.zeros(HEADS), "decay_bias": torch.zeros(HEADS, 1)}
    fields = {
        "heads": SIZES | {"kv_groups": None},
        "scaling": {"cap": cap},
        "normalization": {"eps": config.eps},
        "io": {"norm_eps": config.norm_eps},
    }
    stage = {"gate": found["output"][0], "weight": weight[0]}
    return LayerCase("transformers xLSTMLayer", raw, parameters, found["y"][0], fields, stage)


REFERENCES: dict[str, LayerReference] = {
    "falcon_mamba": falcon_mamba,
    "gated_deltanet": gated_deltanet,
    "gated_softmax": gated_softmax,
    "kda": kda,
    "lfm2_shortconv": lfm2_shortconv,
    "lightning_minimax": lightning_minimax,
    "mamba": mamba,
    "mamba2": mamba2,
    "mla": mla,
    "mlstm_exp": mlstm_exp,
    "rg_lru": rg_lru,
    "rwkv4": rwkv4,
    "softmax_alibi": softmax_alibi,
    "softmax_alibi_falcon": softmax_alibi_falcon,
    "softmax_chunked": softmax_chunked,
    "softmax_partial_rope": softmax_partial_rope,
    "softmax_qknorm": softmax_qknorm,
    "softmax_qknorm_after_rotation": softmax_qknorm_after_rotation,
    "softmax_qknorm_all_heads": softmax_qknorm_all_heads,
    "softmax_rope": softmax_rope,
    "softmax_rope_llama3": softmax_rope_llama3,
    "softmax_sink": softmax_sink,
    "softmax_softcap": softmax_softcap,
    "softmax_window": softmax_window,
}

if __name__ == "__main__":
    main(REFERENCES, ["transformers"], LAYERS)
