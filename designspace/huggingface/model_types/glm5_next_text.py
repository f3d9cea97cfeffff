"""glm5_next_text: Kimi Delta Attention, every fourth layer indexed latent attention. Source: transformers 5.24.

Latent attention without a rotating part (`qk_rope_head_dim` 0); each query reads the `index_topk` keys that an indexer
picks. `linear_attn_config` repeats the sizes of the linear layers. Hyper-connections stand around the mixers.
"""

from designspace.candidate import AnyMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import (
    CONV_TAPS,
    kimi_delta,
    log_floor,
    schedule,
    unrotated_latent,
)
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import Latent, indexed, latent_mixer
from designspace.huggingface.model_types.kimi_linear import IGNORES as KIMI_LINEAR
from designspace.huggingface.model_types.kimi_linear import either
from designspace.huggingface.parts import Defaults, decoder, every, gated_mlp, one_expert
from designspace.huggingface.selective import UNROTATED
from designspace.mixer import MixerSpec
from designspace.outside import Outside

DEFAULTS = Defaults(hidden=4096, layers=45, heads=64, inner=2048, vocab=154880, length=1_048_576)
LATENT = Latent(nope=256, rope=0, value=256)
TOPK = 2048
INTERVAL = 4
LOG_FLOOR = -5.0
WORDS = {
    "linear_attention": "linear",
    **dict.fromkeys(("indexed_attention", "full_attention", "deepseek_sparse_attention"), "indexed"),
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    mixers: dict[str, AnyMixer] = {"linear": _delta(config), "indexed": _indexed(config, hidden)}
    kinds = schedule(config, num_layers, known=WORDS)
    if kinds is None:
        kinds = ["indexed" if last else "linear" for last in every(INTERVAL, num_layers)]
    one_expert(config)
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    return decoder(config, [mixers[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


def _indexed(config: Config, hidden: int) -> Outside:
    if config.integer("qk_rope_head_dim", default=LATENT.rope, least=0):
        dense = latent_mixer(config, hidden, DEFAULTS, LATENT, pairing="interleaved")
    else:
        dense = unrotated_latent(config, hidden, DEFAULTS, LATENT)
    for key in ("index_head_dim", "index_n_heads", "index_kpool"):
        config.optional(key)
    return indexed(config, dense, topk=TOPK)


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
    key = "linear_lower_bound"
    return None if config.is_null(key) else config.number(key, default=LOG_FLOOR)


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
        "full_attn_layers": "layer_types decides",
        "kda_layers": "layer_types decides",
        "safe_gate": "the lower bound decides",
        "swiglu_limit": "of the channel mixer",
    },
)
