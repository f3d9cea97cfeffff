"""xglm: softmax attention without a position operator, sinusoidal positions in the embedding.

Source: arXiv 2112.10668; transformers 5.24, modeling_xglm.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import plain, plain_stack

DEFAULTS = Defaults(hidden=1024, layers=24, heads=16, inner=4096, vocab=256008, length=2048)


def _stack(config: Config) -> Stack:
    found = plain(
        config,
        DEFAULTS,
        hidden=("d_model", "hidden_size"),
        layers=("num_layers", "num_hidden_layers"),
        heads=("attention_heads", "num_attention_heads"),
        inner=("ffn_dim",),
    )
    config.note("position", "in code: sine and cosine of the position are added to the embedding")
    if config.flag("add_cross_attention", default=False):
        config.approximate("add_cross_attention", "the cross-attention to an encoder is left out")
    mixer = from_catalogue("softmax_nope", heads=found.heads_of())
    return plain_stack(config, found, [mixer] * found.layers, positions="sinusoidal")


importer = Importer(
    _stack,
    ignores={"activation_dropout": "training only", "scale_embedding": "scales the embedding of the tokens"},
)
