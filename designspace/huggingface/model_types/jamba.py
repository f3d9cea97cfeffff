"""jamba: Mamba layers (with RMS norms on dt, B, C) and softmax layers without any position operator.

Source: arXiv 2403.19887; transformers 5.24, modeling_jamba: attention where layer % period == offset; apply_rotary is
defined there and never called. `mamba_inner_layernorms` of the older files is true in the code of transformers.
"""

from designspace.candidate import Block
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    every,
    from_catalogue,
    gated_mlp,
    layer,
    model,
)
from designspace.huggingface.selective import IGNORES, UNROTATED, channel_heads, mamba_mixer, silu_activation
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=65536, length=262_144)
PERIOD, OFFSET = 8, 4


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    attention = from_catalogue("softmax_nope", heads=attention_sizes(config, hidden, DEFAULTS))
    config.note("position", "in code: no rotary embedding; the Mamba layers carry position")
    mamba, channel = _mamba(config, hidden), gated_mlp(config, hidden, default=DEFAULTS.inner)
    config.note("experts", "each expert has the width of intermediate_size; the channel mixer stands for one")
    layers: list[Block] = [layer(attention if full else mamba, channel) for full in _is_full(config)]
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _mamba(config: Config, hidden: int) -> MixerSpec:
    inner = config.integer("mamba_expand", default=2) * hidden
    silu_activation(config)
    normed = config.flag("mamba_inner_layernorms", default=True)
    config.note("norm on dt, B, C", "in code: weighted RMS")
    eps = config.number("rms_norm_eps", default=1e-6)
    norms = {"norm": "rms_weighted", "eps": eps, "eps_kind": "mean"} if normed else {}
    heads = channel_heads(inner, config.integer("mamba_d_state", default=16))
    return mamba_mixer(heads, conv=config.integer("mamba_d_conv", default=4), features=norms)


def _is_full(config: Config) -> list[bool]:
    period = config.integer("attn_layer_period", default=PERIOD)
    offset = config.integer("attn_layer_offset", default=OFFSET, least=0)
    if offset >= period:
        raise config.error(
            "attn_layer_offset", f"`attn_layer_offset` must be below `attn_layer_period` {period}, got {offset}."
        )
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    full = every(period, num_layers, first=offset)
    kinds = schedule(config, num_layers)  # a property of the class that recent files write too
    if kinds is not None and kinds != ["full" if is_full else "linear" for is_full in full]:
        raise config.error("layer_types", "`layer_types` contradicts `attn_layer_period` and `attn_layer_offset`.")
    return full


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **UNROTATED,
        "calc_logits_for_entire_prompt": "generation",
        "expert_layer_offset": "routing of the channel mixer",
        "expert_layer_period": "routing of the channel mixer",
        "layers_num_experts": "routing of the channel mixer",
        "mamba_dt_rank": "width of the projection of the step: parameters, not the tuple",
        "n_ctx": "the length of pre-training; max_position_embeddings is the limit",
        "sliding_window": "not read by the model code",
    },
)
