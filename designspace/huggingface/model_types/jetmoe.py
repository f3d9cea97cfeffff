"""jetmoe: a mixture of attention heads; each of the experts of a token brings one query per key.

Source: arXiv 2404.07413; transformers 5.24, modeling_jetmoe: heads = num_key_value_heads * num_experts_per_tok.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, gated_mlp, one_expert, rope, sizes, stated

DEFAULTS = Defaults(hidden=2048, layers=12, heads=32, inner=5632, vocab=32000, length=4096)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    kv_heads = config.integer("num_key_value_heads", default=16)
    num_heads = kv_heads * config.integer("num_experts_per_tok", "moe_top_k", default=2)
    if config.integer("num_attention_heads", default=num_heads) != num_heads:
        raise config.error(
            "num_attention_heads", f"`num_attention_heads` must be {num_heads}: keys * experts per token."
        )
    heads = sizes(num_heads, kv_heads, config.integer("kv_channels", "head_dim", default=128))
    config.note("queries", "the query map of a token is that of its experts; a function of this token alone")
    one_expert(config)
    stated(config, "rotary_percent", 1.0, why="all channels rotate")
    mixer = attention("softmax_rope", heads, rope(config, heads["state_dim"], DEFAULTS))
    channel = gated_mlp(config, hidden, "intermediate_size", "ffn_hidden_size", default=DEFAULTS.inner)
    num_layers = config.depth("num_hidden_layers", "num_layers", default=DEFAULTS.layers)
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS, channel=channel)


importer = Importer(
    _stack,
    ignores={
        "aux_loss_coef": "training only",
        "glu": "of the channel mixer",
        "length": "max_position_embeddings is the limit",
        "moe_num_experts": "routing of the channel mixer",
        "moe_type": "routing of the channel mixer",
        "moe_aux_loss_weight": "training only",
    },
)
