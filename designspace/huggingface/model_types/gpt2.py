"""gpt2: softmax attention without a position operator, learned absolute positions in the embedding.

Source: transformers 5.24, modeling_gpt2 (scale_attn_weights, scale_attn_by_inverse_layer_idx).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import gpt2_names, plain_stack

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=50257, length=1024)


def _stack(config: Config) -> Stack:
    found = gpt2_names(config, DEFAULTS)
    scale = found.head_dim**-0.5 if config.flag("scale_attn_weights", default=True) else 1.0
    by_layer = config.flag("scale_attn_by_inverse_layer_idx", default=False)
    if config.flag("add_cross_attention", default=False):
        config.approximate("add_cross_attention", "the cross-attention to an encoder is left out")
    kv_heads = _kv_heads(config, found.heads)
    mixers = [
        from_catalogue(
            "softmax_nope", heads=found.heads_of(kv_heads), scaling={"base": scale / (index + 1) if by_layer else scale}
        )
        for index in range(found.layers)
    ]
    return plain_stack(config, found, mixers, positions="learned")


def _kv_heads(config: Config, num_heads: int) -> int:
    """One key for all heads in modeling_gpt2_mq of bigcode/santacoder, whose model_type is gpt2 too."""
    if not config.has("attention_head_type"):  # no key of transformers
        config.optional("attention_head_type")
        return num_heads
    match config.text("attention_head_type", default="multihead"):
        case "multihead":
            return num_heads
        case "multiquery":
            return 1
        case other:
            raise unsupported(config, "attention_head_type", other)


importer = Importer(
    _stack,
    ignores={
        "apply_query_key_layer_scaling": "not read by the model code",
        "n_ctx": "the older name of n_positions, which the code does not read",
        "normalize_attention_scores": "not read by the model code",
        "predict_special_tokens": "generation and tokens",
        "reorder_and_upcast_attn": "execution: scores in float32",
        "scale_attention_softmax_in_fp32": "execution",
    },
)
