"""biogpt: softmax attention without a position operator, learned positions (shifted by two) in the embedding.

Source: transformers 5.24, modeling_biogpt.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import plain, plain_stack

DEFAULTS = Defaults(hidden=1024, layers=24, heads=16, inner=4096, vocab=42384, length=1024)


def _stack(config: Config) -> Stack:
    found = plain(config, DEFAULTS)
    config.note("position", "in code: learned positions; two rows of the table stand before position 0")
    mixer = from_catalogue("softmax_nope", heads=found.heads_of())
    return plain_stack(config, found, [mixer] * found.layers, positions="learned")


importer = Importer(
    _stack,
    ignores={"activation_dropout": "training only", "scale_embedding": "scales the embedding of the tokens"},
)
