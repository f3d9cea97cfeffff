"""gpt2: softmax attention without a position operator, learned absolute positions in the embedding.

Source: transformers 5.24, modeling_gpt2 (scale_attn_weights, scale_attn_by_inverse_layer_idx).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, head_dim, layer_block, mlp, model, sizes


def _stack(config: Config) -> Stack:
    hidden, num_heads = config.integer("n_embd"), config.integer("n_head")
    width = head_dim(config, hidden, num_heads)
    scale = width**-0.5 if config.flag("scale_attn_weights", default=True) else 1.0
    by_layer = config.flag("scale_attn_by_inverse_layer_idx", default=False)
    channel = mlp(hidden, config.integer("n_inner", default=4 * hidden))
    layers = [
        layer_block(
            from_catalogue(
                "softmax_nope",
                heads=sizes(num_heads, num_heads, width),
                scaling={"base": scale / (layer + 1) if by_layer else scale},
            ),
            channel,
        )
        for layer in range(config.depth("n_layer"))
    ]
    return Stack(layers, model(config, hidden, positions="learned"), config.integer("n_positions", "n_ctx"))


importer = Importer(
    _stack,
    ignores={
        "activation_function": "of the channel mixer",
        "layer_norm_epsilon": "eps of the block norms",
        "n_ctx": "the older name of n_positions",
        "reorder_and_upcast_attn": "execution: scores in float32",
        "add_cross_attention": "off in a decoder-only model",
    },
)
