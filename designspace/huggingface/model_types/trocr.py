"""trocr: the causal decoder of TrOCR; with `is_decoder` it also reads an image, by a cross-attention that is left out.

Source: arXiv 2109.10282; transformers 5.24, modeling_trocr: learned positions (shifted by two) or sinusoidal ones,
norms after the sub-layers.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model
from designspace.huggingface.plain import plain

DEFAULTS = Defaults(hidden=1024, layers=12, heads=16, inner=4096, vocab=50265, length=512)


def _stack(config: Config) -> Stack:
    found = plain(
        config,
        DEFAULTS,
        hidden=("d_model", "hidden_size"),
        layers=("decoder_layers", "num_hidden_layers"),
        heads=("decoder_attention_heads", "num_attention_heads"),
        inner=("decoder_ffn_dim",),
    )
    if config.flag("is_decoder", default=False):
        config.approximate("is_decoder", "the cross-attention to an image is left out")
    is_learned = config.flag("use_learned_position_embeddings", default=True)
    mixer = from_catalogue("softmax_nope", heads=found.heads_of())
    block = layer(mixer, mlp(found.hidden, found.inner), norm="layer", placement="post")
    around = model(config, found.hidden, positions="learned" if is_learned else "sinusoidal", vocab=found.vocab)
    return Stack([block] * found.layers, around, found.length)


importer = Importer(
    _stack,
    ignores={
        "activation_dropout": "training only",
        "cross_attention_hidden_size": "of the cross-attention, which is left out",
        "decoder_layerdrop": "training only",
        "layernorm_embedding": "a norm of the embedding",
        "scale_embedding": "scales the embedding of the tokens",
    },
)
