"""Golden files from the layers of transformers, inside tiny random models (see README.md beside this file).

The signals are what the layer's own projections and norms produced, and `y` what entered its output projection or
output norm, both caught by hooks; masks and rotary angles are those that the model made.
"""

from typing import Any

import torch
from case import Case, Draw, Reference, head_first, main
from tiny_models import ATTENTION, HEADS, HIDDEN, KV_HEADS, TINY, WIDTH, caught, tiny_model
from torch import Tensor
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Config, DeepseekV3Model
from transformers.models.diffllama.modeling_diffllama import DiffLlamaConfig, DiffLlamaModel
from transformers.models.falcon.modeling_falcon import FalconConfig, FalconModel, build_alibi_tensor
from transformers.models.falcon_mamba.modeling_falcon_mamba import FalconMambaConfig, FalconMambaModel
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssConfig, GptOssModel
from transformers.models.lfm2.modeling_lfm2 import Lfm2Config, Lfm2Model
from transformers.models.llama4.modeling_llama4 import Llama4TextConfig, Llama4TextModel
from transformers.models.minimax.modeling_minimax import MiniMaxConfig, MiniMaxModel
from transformers.models.mistral.modeling_mistral import MistralConfig, MistralModel
from transformers.models.olmo2.modeling_olmo2 import Olmo2Config, Olmo2Model
from transformers.models.qwen3.modeling_qwen3 import Qwen3Config, Qwen3Model
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextConfig, Qwen3NextModel
from transformers.models.t5.modeling_t5 import T5Config, T5Stack


def _shared(x: Tensor, streams: int, heads: int = HEADS) -> Tensor:
    """[1, T, streams * width] as one copy per head."""
    return head_first(x, streams).repeat_interleave(heads // streams, dim=0)


def _angles(model: Any, heads: int = HEADS) -> Tensor:
    return model.rotary_emb.inv_freq.expand(heads, -1)


def _half(model: Any) -> dict[str, Any]:
    return {"pair": "half", "half": len(model.rotary_emb.inv_freq)}


def _attention(draw: Draw, model: Any, attention: Any, *, query: str = "q_proj", key: str = "k_proj") -> Case:
    """A layer with projections of the usual names; `query` and `key` name the last module before the rotation."""
    parts = {"q": getattr(attention, query), "k": getattr(attention, key), "v": attention.v_proj}
    found = caught(draw, model, parts, attention.o_proj)
    signals = {"q": head_first(found["q"], HEADS), "ang": _angles(model)}
    signals |= {name: _shared(found[name], KV_HEADS) for name in ("k", "v")}
    reference = f"transformers {type(attention).__name__}"
    return Case(reference, signals, head_first(found["y"], HEADS), _half(model))


def softmax_window(draw: Draw) -> Case:
    """Mistral with a window of 5 keys."""
    model = tiny_model(draw, MistralModel, MistralConfig(**ATTENTION, sliding_window=5))
    case = _attention(draw, model, model.layers[0].self_attn)
    case.signals["window"] = torch.full((HEADS,), 5)
    return case


def softmax_qknorm(draw: Draw) -> Case:
    """Qwen3: weighted RMS norm per head before the rotation."""
    model = tiny_model(draw, Qwen3Model, Qwen3Config(**ATTENTION))
    return _attention(draw, model, model.layers[0].self_attn, query="q_norm", key="k_norm")


def softmax_qknorm_all_heads(draw: Draw) -> Case:
    """OLMo 2: weighted RMS norm over all heads together before the rotation."""
    model = tiny_model(draw, Olmo2Model, Olmo2Config(**ATTENTION))
    return _attention(draw, model, model.layers[0].self_attn, query="q_norm", key="k_norm")


def gated_softmax(draw: Draw) -> Case:
    """Qwen3-Next: a quarter of the channels rotates; q_proj holds the queries and the output gate of each head."""
    config = Qwen3NextConfig(**ATTENTION, layer_types=["full_attention"], num_experts=0)
    model = tiny_model(draw, Qwen3NextModel, config)
    attention = model.layers[0].self_attn
    parts = {"q": attention.q_norm, "k": attention.k_norm, "v": attention.v_proj, "both": attention.q_proj}
    found = caught(draw, model, parts, attention.o_proj)
    gate = head_first(found["both"], HEADS)[..., WIDTH:].sigmoid()
    signals = {"q": head_first(found["q"], HEADS), "ang": _angles(model), "out_gate": gate}
    signals |= {name: _shared(found[name], KV_HEADS) for name in ("k", "v")}
    return Case("transformers Qwen3NextAttention", signals, head_first(found["y"], HEADS), _half(model))


def softmax_sink_rope(draw: Draw) -> Case:
    """gpt-oss: a learned sink per head, rotary positions (YaRN angles and their factor on q and k)."""
    config = GptOssConfig(**ATTENTION, layer_types=["full_attention"], num_local_experts=2, num_experts_per_tok=1)
    model = tiny_model(draw, GptOssModel, config)
    case = _attention(draw, model, model.layers[0].self_attn)
    factor = float(model.rotary_emb.attention_scaling)
    case.signals["sink"] = model.layers[0].self_attn.sinks
    case.scalars["base"] = factor * factor * WIDTH**-0.5
    return case


def softmax_chunked(draw: Draw) -> Case:
    """Llama 4: chunks of 7 keys, interleaved pairs, l2 norm after the rotation (it commutes: caught before it)."""
    config = Llama4TextConfig(
        **ATTENTION,
        intermediate_size_mlp=16,
        layer_types=["chunked_attention"],
        no_rope_layers=[1],
        attention_chunk_size=7,
        moe_layers=[],
        rms_norm_eps=1e-12,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    model = tiny_model(draw, Llama4TextModel, config)
    case = _attention(draw, model, model.layers[0].self_attn)
    for name in ("q", "k"):
        case.signals[name] = torch.nn.functional.rms_norm(case.signals[name], (WIDTH,), eps=1e-12)
    case.scalars.update({"pair": "inter", "chunk": 7})
    return case


def softmax_alibi_falcon(draw: Draw) -> Case:
    """Falcon: the ALiBi bias is added before the division by sqrt(n).

    Run with sdpa: the eager path of transformers 5.24 adds the bias twice, in the mask and in the layer.
    """
    config = FalconConfig(
        vocab_size=8, hidden_size=HIDDEN, num_hidden_layers=1, num_attention_heads=HEADS, alibi=True, multi_query=False
    )
    model = tiny_model(draw, FalconModel, config, implementation="sdpa")
    attention = model.h[0].self_attention
    found = caught(draw, model, {"qkv": attention.query_key_value}, attention.dense)
    q, k, v = head_first(found["qkv"], HEADS).split(WIDTH, dim=-1)
    bias = build_alibi_tensor(torch.ones(1, draw.seq_len), HEADS, torch.float64)[:, 0]
    slopes = (bias[:, 1] - bias[:, 0])[:, None].expand(-1, draw.seq_len)
    signals = {"q": q, "k": k, "v": v, "shear": -slopes}
    return Case("transformers FalconAttention (alibi, sdpa)", signals, head_first(found["y"], HEADS))


def softmax_relbias(draw: Draw) -> Case:
    """The first decoder layer of T5: one bias per head and bucket of distances, no scale."""
    config = T5Config(
        vocab_size=8,
        d_model=HIDDEN,
        d_kv=WIDTH,
        d_ff=16,
        num_layers=1,
        num_heads=HEADS,
        is_decoder=True,
        use_cache=False,
    )
    model = tiny_model(draw, T5Stack, config)
    attention = model.block[0].layer[0].SelfAttention
    found = caught(draw, model, {"q": attention.q, "k": attention.k, "v": attention.v}, attention.o)
    signals = {name: head_first(found[name], HEADS) for name in ("q", "k", "v")}
    signals["table"] = attention.compute_bias(draw.seq_len, draw.seq_len)[0, :, -1].flip(-1)
    return Case("transformers T5Attention (decoder)", signals, head_first(found["y"], HEADS))


def mla(draw: Draw) -> Case:
    """DeepSeek-V3: keys are [own part; rotating part shared by the heads]. The rotating channels come first here."""
    sizes = {"q_lora_rank": 6, "kv_lora_rank": 5, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 7}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": HEADS}
    config = DeepseekV3Config(**TINY, **heads, **sizes, first_k_dense_replace=1, rope_interleave=True)
    model = tiny_model(draw, DeepseekV3Model, config)
    attention = model.layers[0].self_attn
    parts = {"q": attention.q_b_proj, "latent": attention.kv_a_proj_with_mqa, "kv": attention.kv_b_proj}
    found = caught(draw, model, parts, attention.o_proj)
    q, kv = head_first(found["q"], HEADS), head_first(found["kv"][:, 0], HEADS)
    shared = _shared(found["latent"][..., sizes["kv_lora_rank"] :], 1)
    signals = {
        "q": torch.cat([q[..., 6:], q[..., :6]], dim=-1),
        "k": torch.cat([shared, kv[..., :6]], dim=-1),
        "v": kv[..., 6:],
        "ang": _angles(model),
    }
    return Case("transformers DeepseekV3Attention", signals, head_first(found["y"], HEADS), {"pair": "inter"})


def lightning_minimax(draw: Draw) -> Case:
    """MiniMax-01, the first of two layers, in blocks of 8 tokens; `y` is what enters the norm over all heads."""
    config = MiniMaxConfig(
        **ATTENTION | {"num_hidden_layers": 2, "num_key_value_heads": HEADS},
        layer_types=["linear_attention", "full_attention"],
        block_size=8,
        num_local_experts=2,
    )
    model = tiny_model(draw, MiniMaxModel, config)
    attention = model.layers[0].self_attn
    found = caught(draw, model, {"qkv": attention.act_fn}, attention.norm)
    q, k, v = head_first(found["qkv"], HEADS).split(WIDTH, dim=-1)
    signals = {"q": q, "k": k, "v": v, "a": torch.exp(-attention.slope_rate[:, :, 0])}
    return Case("transformers MiniMaxLightningAttention", signals, head_first(found["y"], HEADS))


def lfm2_shortconv(draw: Draw) -> Case:
    """LFM2: y = C * conv3(B * x); the kernel of a convolution runs from the farthest lag to lag 0."""
    config = Lfm2Config(**TINY | {"hidden_size": HIDDEN}, num_attention_heads=HEADS, layer_types=["conv"])
    model = tiny_model(draw, Lfm2Model, config)
    conv = model.layers[0].conv
    found = caught(draw, model, {"all": conv.in_proj}, conv.out_proj)
    k, q, v = (head_first(part, HIDDEN) for part in found["all"].chunk(3, dim=-1))
    signals = {"q": q, "k": k, "v": v, "taps": conv.conv.weight.flip(-1)}
    return Case("transformers Lfm2ShortConv", signals, head_first(found["y"], HIDDEN))


def falcon_mamba(draw: Draw) -> Case:
    """Falcon Mamba: RMS-normalised B, C and dt; channels as heads; gate silu(z)."""
    config = FalconMambaConfig(
        vocab_size=8,
        hidden_size=HIDDEN,
        intermediate_size=6,
        state_size=4,
        num_hidden_layers=1,
        time_step_rank=3,
        expand=1,
    )
    model = tiny_model(draw, FalconMambaModel, config)
    mixer = model.layers[0].mixer
    mixer.dt_proj.bias.copy_(draw.uniform(6, low=-4.0, high=0.0))
    parts = {"step": mixer.dt_layernorm, "k": mixer.b_layernorm, "q": mixer.c_layernorm, "all": mixer.in_proj}
    entering_scan: list[Tensor] = []
    mixer.x_proj.register_forward_pre_hook(lambda _module, inputs: entering_scan.append(inputs[0]))
    found = caught(draw, model, parts, mixer.out_proj)
    dt = torch.nn.functional.softplus(mixer.dt_proj(found["step"]))
    z = found["all"].chunk(2, dim=-1)[1]
    v, dt, gate, y = (head_first(x, 6) for x in (entering_scan[0], dt, torch.nn.functional.silu(z), found["y"]))
    signals = {name: _shared(found[name], 1, heads=6) for name in ("q", "k")}
    signals |= {"v": v, "gate": dt[..., 0], "a": torch.exp(-mixer.A_log.exp()[:, None] * dt), "D": mixer.D}
    return Case("transformers FalconMambaMixer", signals | {"out_gate": gate}, y)


def diff(draw: Draw) -> Case:
    """Differential attention: heads g and g + 2 share the values; y_g = y of g - lambda y of g + 2, before its norm."""
    heads = 4
    config = DiffLlamaConfig(**ATTENTION | {"num_attention_heads": heads, "num_key_value_heads": 2}, lambda_std_dev=0.5)
    model = tiny_model(draw, DiffLlamaModel, config)
    attention = model.layers[0].self_attn
    for name in ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"):
        getattr(attention, name).copy_(draw.normal(WIDTH) * 0.3)
    parts = {"q": attention.q_proj, "k": attention.k_proj, "v": attention.v_proj}
    found = caught(draw, model, parts, attention.groupnorm)
    first, second = head_first(found["v"], 2)
    share = (attention.lambda_q1 @ attention.lambda_k1).exp() - (attention.lambda_q2 @ attention.lambda_k2).exp()
    pairs = heads // 2
    signals = {
        "q": head_first(found["q"], heads),
        "k": _shared(found["k"], 2, heads),
        "v": torch.cat([first, second], dim=-1).expand(heads, -1, -1),
        "ang": _angles(model, heads),
        "combine": torch.cat([torch.eye(pairs), -(share + attention.lambda_init) * torch.eye(pairs)], dim=-1),
    }
    return Case("transformers DiffLlamaAttention", signals, head_first(found["y"], pairs), _half(model))


REFERENCES: dict[str, Reference] = {
    "diff": diff,
    "falcon_mamba": falcon_mamba,
    "gated_softmax": gated_softmax,
    "lfm2_shortconv": lfm2_shortconv,
    "lightning_minimax": lightning_minimax,
    "mla": mla,
    "softmax_alibi_falcon": softmax_alibi_falcon,
    "softmax_chunked": softmax_chunked,
    "softmax_qknorm": softmax_qknorm,
    "softmax_qknorm_all_heads": softmax_qknorm_all_heads,
    "softmax_relbias": softmax_relbias,
    "softmax_sink_rope": softmax_sink_rope,
    "softmax_window": softmax_window,
}

if __name__ == "__main__":
    main(REFERENCES, ["transformers"])
