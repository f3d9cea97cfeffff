"""gpt2: softmax attention without a position operator, learned absolute positions in the embedding.

Source: transformers 5.24, modeling_gpt2 (scale_attn_weights, scale_attn_by_inverse_layer_idx).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import gpt2_names, plain_stack

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=50257, length=1024)


def _stack(config: Config) -> Stack:
    found = gpt2_names(config, DEFAULTS)
    scale = found.head_dim**-0.5 if config.flag("scale_attn_weights", default=True) else 1.0
    by_layer = config.flag("scale_attn_by_inverse_layer_idx", default=False)
    if config.flag("add_cross_attention", default=False):
        config.approximate("add_cross_attention", "the cross-attention to an encoder is left out")
    mixers = [
        from_catalogue(
            "softmax_nope", heads=found.heads_of(), scaling={"base": scale / (index + 1) if by_layer else scale}
        )
        for index in range(found.layers)
    ]
    return plain_stack(config, found, mixers, positions="learned")


importer = Importer(
    _stack,
    ignores={
        "n_ctx": "the older name of n_positions, which the code does not read",
        "predict_special_tokens": "generation and tokens",
        "reorder_and_upcast_attn": "execution: scores in float32",
        "scale_attention_softmax_in_fp32": "execution",
    },
)
