"""gpt_neox_japanese: gpt_neox with all channels rotating unless the file says otherwise.

Source: transformers 5.24, modeling_gpt_neox_japanese. The width of the channel mixer is a multiple of hidden_size.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model, rope
from designspace.huggingface.plain import plain

DEFAULTS = Defaults(hidden=2560, layers=32, heads=32, inner=10240, vocab=32000, length=2048)


def _stack(config: Config) -> Stack:
    found = plain(config, DEFAULTS, fourfold=True)
    multiple = config.integer("intermediate_multiple_size", default=4)
    rotation = rope(config, found.head_dim, DEFAULTS)
    mixer = from_catalogue("softmax_partial_rope", heads=found.heads_of(), rotation=rotation)
    block = layer(mixer, mlp(found.hidden, multiple * found.hidden), norm="layer")
    return Stack([block] * found.layers, model(config, found.hidden, vocab=found.vocab), found.length)


importer = Importer(_stack, ignores={})
