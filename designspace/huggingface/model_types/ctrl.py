"""ctrl: softmax attention without a position operator, sinusoidal positions in the embedding.

Source: arXiv 1909.05858; transformers 5.24, modeling_ctrl (scores divided by sqrt(head_dim)).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import gpt2_names, plain_stack

DEFAULTS = Defaults(hidden=1280, layers=48, heads=16, inner=8192, vocab=246534, length=256)


def _stack(config: Config) -> Stack:
    found = gpt2_names(config, DEFAULTS, inner=("dff",), fourfold=False)
    config.note("position", "in code: sine and cosine of the position are added to the embedding")
    mixer = from_catalogue("softmax_nope", heads=found.heads_of())
    return plain_stack(config, found, [mixer] * found.layers, positions="sinusoidal")


importer = Importer(
    _stack,
    ignores={
        "from_tf": "book-keeping of the framework",
        "n_ctx": "the older name of n_positions, which the code does not read",
    },
)
