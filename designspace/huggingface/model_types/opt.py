"""opt: softmax attention without a position operator, learned positions (shifted by two) in the embedding.

Source: arXiv 2205.01068; transformers 5.24, modeling_opt. `word_embed_proj_dim` is the width of the embedding only;
`do_layer_norm_before: false` (the 350m model) puts the norms after the sub-layers.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model
from designspace.huggingface.plain import plain

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=50272, length=2048)


def _stack(config: Config) -> Stack:
    found = plain(config, DEFAULTS, inner=("ffn_dim",))
    config.note("position", "in code: learned positions; two rows of the table stand before position 0")
    before = config.flag("do_layer_norm_before", default=True)
    block = layer(
        from_catalogue("softmax_nope", heads=found.heads_of()),
        mlp(found.hidden, found.inner),
        norm="layer",
        placement="pre" if before else "post",
    )
    around = model(config, found.hidden, positions="learned", vocab=found.vocab)
    return Stack([block] * found.layers, around, found.length)


importer = Importer(
    _stack,
    ignores={
        "_remove_final_layer_norm": "the norm after the last layer",
        "activation_dropout": "training only",
        "enable_bias": "a bias of the projections leaves the tuple as it is",
        "layer_norm_elementwise_affine": "of the norms around the sub-layers",
        "learned_embeddings": "not read by the model code: positions are always learned",
        "learn_positional_embeddings": "not read by the model code: positions are always learned",
        "output_projection": "outside the mixer",
        "scale_embeddings": "not read by the model code",
        "word_embed_proj_dim": "width of the embedding, projected to hidden_size before the first layer",
    },
)
