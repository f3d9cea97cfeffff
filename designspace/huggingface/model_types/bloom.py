"""bloom: softmax attention with ALiBi added after the score scale; implied by the model_type, no key says so.

Source: transformers 5.24, modeling_bloom (build_alibi_tensor); arXiv 2108.12409 for other head counts.
"""

from designspace.huggingface.alibi import slopes
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import plain, plain_stack

DEFAULTS = Defaults(hidden=64, layers=2, heads=8, inner=256, vocab=250880, length=2048)


def _stack(config: Config) -> Stack:
    found = plain(
        config,
        DEFAULTS,
        hidden=("hidden_size", "n_embed"),
        layers=("n_layer", "num_hidden_layers"),
        heads=("n_head", "num_attention_heads"),
        inner=("n_inner",),
        length=("seq_length", "max_position_embeddings"),
        fourfold=True,
    )
    config.note("position", "in code: ALiBi with slopes 2^(-8h/H), added after the scale")
    mixer = from_catalogue("softmax_alibi", heads=found.heads_of(), shear={"slopes": slopes(found.heads)})
    return plain_stack(config, found, [mixer] * found.layers)


importer = Importer(
    _stack,
    ignores={
        "apply_residual_connection_post_layernorm": "which stream feeds the skip; off in every released model",
        "attention_softmax_in_fp32": "execution",
        "bias_dropout_fusion": "execution",
        "masked_softmax_fusion": "execution",
        "offset_alibi": "not read by the model code",
        "skip_bias_add": "execution",
        "skip_bias_add_qkv": "execution",
        "slow_but_exact": "execution",
    },
)
