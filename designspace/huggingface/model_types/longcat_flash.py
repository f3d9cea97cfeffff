"""longcat_flash: two latent-attention sub-layers in each of `num_layers` layers; scaled latents.

Source: arXiv 2509.01322; transformers 5.24, modeling_longcat_flash: q is multiplied by sqrt(hidden / q_lora_rank), the
normed latent of keys and values by sqrt(hidden / kv_lora_rank). The first scales the whole score and counts as score
scale; the second scales values and the plain part of the keys.
"""

import math

from designspace.candidate import MAX_LAYERS
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, latent_mixer
from designspace.huggingface.parts import Defaults, decoder, gated_mlp

DEFAULTS = Defaults(hidden=6144, layers=28, heads=64, inner=12288, vocab=131072, length=131072, theta=10_000_000.0)
LATENT = Latent()
ATTENTIONS = 2  # in one layer


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    mixer = latent_mixer(config, hidden, DEFAULTS, LATENT, pairing="interleaved", gain=_query_gain(config, hidden))
    channel = gated_mlp(config, hidden, "ffn_hidden_size", "intermediate_size", default=DEFAULTS.inner)
    if config.integer("head_dim", default=mixer.heads.shared_key_dim) != mixer.heads.shared_key_dim:
        raise config.error("head_dim", "`head_dim` is the rotary width here: it must equal `qk_rope_head_dim`.")
    config.note("experts", "the channel mixer is the dense one of each sub-layer")
    return decoder(config, [mixer] * _depth(config), hidden=hidden, defaults=DEFAULTS, channel=channel)


def _query_gain(config: Config, hidden: int) -> float:
    """The factor of the queries; switched off by mla_scale_q_lora in files that have the key."""
    if config.flag("mla_scale_kv_lora", default=True):
        config.approximate(
            "mla_scale_kv_lora",
            "sqrt(hidden / kv_lora_rank) on the plain part of the keys counts as part of the weights",
        )
    gain = math.sqrt(hidden / config.integer("q_lora_rank", default=LATENT.query_rank))
    return gain if config.flag("mla_scale_q_lora", default=True) else 1.0


def _depth(config: Config) -> int:
    """Sub-layers: twice num_layers; num_hidden_layers, where it stands, counts them already."""
    if not config.has("num_layers") and config.has("num_hidden_layers"):
        return config.depth("num_hidden_layers")
    depth = ATTENTIONS * config.depth("num_layers", default=DEFAULTS.layers)
    if config.integer("num_hidden_layers", default=depth) not in (depth, depth // ATTENTIONS):
        raise config.error("num_hidden_layers", f"`num_hidden_layers` contradicts `num_layers`: {depth} sub-layers.")
    if depth > MAX_LAYERS:
        raise config.error("num_layers", f"{depth} sub-layers are more than {MAX_LAYERS}; give a smaller stack.")
    return depth


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "attention_method": "MLA, the only one that the model code has",
        "moe_topk": "routing of the channel mixer",
        "router_bias": "routing of the channel mixer",
        "router_dtype": "routing of the channel mixer",
        "zero_expert_num": "routing of the channel mixer",
        "zero_expert_type": "routing of the channel mixer",
    },
)
