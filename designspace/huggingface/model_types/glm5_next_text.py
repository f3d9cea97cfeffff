"""glm5_next_text: Kimi Delta Attention, every fourth layer indexed latent attention. Source: transformers 5.24.

Latent attention without a rotating part (`qk_rope_head_dim` 0); each query reads the `index_topk` keys that an indexer
picks. `linear_attn_config` repeats the sizes of the linear layers. Hyper-connections stand around the mixers.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import (
    CONV_TAPS,
    LatentDefaults,
    kimi_delta,
    latent_heads,
    log_floor,
    schedule,
)
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.kimi_linear import IGNORES as KIMI_LINEAR
from designspace.huggingface.model_types.kimi_linear import either
from designspace.huggingface.parts import Defaults, decoder, every, from_catalogue, gated_mlp, one_expert
from designspace.huggingface.rope import rotary
from designspace.huggingface.selective import UNROTATED
from designspace.mixer import MixerSpec
from designspace.outside import Outside

DEFAULTS = Defaults(hidden=4096, layers=45, heads=64, inner=2048, vocab=154880, length=1_048_576)
LATENT = LatentDefaults(heads=64, nope=256, rope=0, value=256, latent=512)
INTERVAL = 4
LOG_FLOOR = -5.0
WORDS = {
    "linear_attention": "linear",
    **dict.fromkeys(("indexed_attention", "full_attention", "deepseek_sparse_attention"), "indexed"),
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    mixers = {"linear": _delta(config), "indexed": _indexed(config)}
    kinds = schedule(config, num_layers, known=WORDS)
    if kinds is None:
        kinds = ["indexed" if last else "linear" for last in every(INTERVAL, num_layers)]
    one_expert(config)
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    return decoder(config, [mixers[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


def _indexed(config: Config) -> Outside:
    heads = latent_heads(config, LATENT)
    dense = from_catalogue("softmax_nope", heads=heads)
    if rotated := heads["shared_key_dim"]:
        rotation = rotary(config, rotated, pairing="interleaved") | {"fraction": rotated / heads["state_dim"]}
        dense = from_catalogue("softmax_nope", heads=heads, rotation=rotation)
    for key in ("index_head_dim", "index_n_heads", "index_kpool"):
        config.optional(key)
    topk = config.integer("index_topk", default=2048)
    return Outside(
        outside="sparse_support",
        reason=f"each query reads the {topk} keys that an indexer scores highest: top-k sparse support.",
        nearest=dense,
    )


def _delta(config: Config) -> MixerSpec:
    nested = config.nested("linear_attn_config")
    floor = nested.number("gate_lower_bound") if nested.has("gate_lower_bound") else _floor(config)
    return kimi_delta(
        num_heads=either(config, "linear_num_heads", nested, "num_heads", 64),
        head_dim=either(config, "linear_head_dim", nested, "head_dim", 128),
        taps=either(config, "linear_conv_kernel_dim", nested, "short_conv_kernel_size", CONV_TAPS),
        log_floor=None if floor is None else log_floor(config, "linear_lower_bound", floor),
    )


def _floor(config: Config) -> float | None:
    """`linear_lower_bound`; null means no bound, an absent key the class default."""
    if "linear_lower_bound" in config.data and not config.has("linear_lower_bound"):
        config.optional("linear_lower_bound")
        return None
    return config.number("linear_lower_bound", default=LOG_FLOOR)


importer = Importer(
    _stack,
    ignores={
        **UNROTATED,
        **KIMI_LINEAR,
        **dict.fromkeys(
            ("hc_eps", "hc_mult", "hc_sinkhorn_iters"),
            "of the hyper-connections around the sub-layers, which the candidate does not have",
        ),
        **dict.fromkeys(
            ("index_kpool_always_select_tail", "index_skip_topk_offset", "index_topk_freq", "index_topk_pattern"),
            "of the indexer, which lies outside the grammar",
        ),
        "indexer_types": "which layers share the picks of an indexer: outside the grammar",
        "linear_attn_config.full_attn_layers": "layer_types decides",
        "linear_attn_config.kda_layers": "layer_types decides",
        "linear_attn_config.safe_gate": "the lower bound decides",
        "swiglu_limit": "of the channel mixer",
    },
)
