"""distilbert: bert with half the layers and names of its own. Source: arXiv 1910.01108; transformers 5.24."""

from designspace.huggingface.bidirectional import IGNORES, both_ways, post_norm_stack
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import plain

DEFAULTS = Defaults(hidden=768, layers=6, heads=12, inner=3072, vocab=30522, length=512)


def _stack(config: Config) -> Stack:
    found = plain(
        config,
        DEFAULTS,
        hidden=("dim", "hidden_size"),
        layers=("n_layers", "num_hidden_layers"),
        heads=("n_heads", "num_attention_heads"),
        inner=("hidden_dim",),
    )
    positions = "sinusoidal" if config.flag("sinusoidal_pos_embds", default=False) else "learned"
    mixer = both_ways(from_catalogue("softmax_nope", heads=found.heads_of()))
    return post_norm_stack(config, found, [mixer] * found.layers, positions=positions)


importer = Importer(
    _stack,
    ignores=IGNORES
    | {
        "activation": "of the channel mixer",
        "qa_dropout": "training only",
        "seq_classif_dropout": "training only",
        "tie_weights_": "outside the mixer; parameters are counted untied",
    },
)
