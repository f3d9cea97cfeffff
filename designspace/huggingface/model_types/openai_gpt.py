"""openai-gpt: the first GPT, as gpt2 with the norm after each sub-layer. Source: transformers 5.24, modeling_openai.

The scores are always divided by sqrt(head_dim); no key says so.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model
from designspace.huggingface.plain import gpt2_names

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=40478, length=512)


def _stack(config: Config) -> Stack:
    found = gpt2_names(config, DEFAULTS)
    config.note("norm", "in code: LayerNorm after each sub-layer")
    mixer = from_catalogue("softmax_nope", heads=found.heads_of())
    block = layer(mixer, mlp(found.hidden, found.inner), norm="layer", placement="post")
    around = model(config, found.hidden, positions="learned", vocab=found.vocab)
    return Stack([block] * found.layers, around, found.length)


importer = Importer(
    _stack,
    ignores={
        "afn": "of the channel mixer",
        "n_ctx": "the older name of n_positions, which the code does not read",
        "n_special": "generation and tokens",
        "predict_special_tokens": "generation and tokens",
    },
)
