"""gpt_neox: rotary attention on a quarter of the channels unless the file says otherwise, one k/v head per query head.

Source: arXiv 2204.06745; transformers 5.24, modeling_gpt_neox. Files hold rotary_pct and rotary_emb_base, newer ones
partial_rotary_factor and rope_theta, some all four.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, rope
from designspace.huggingface.plain import plain, plain_stack

DEFAULTS = Defaults(hidden=6144, layers=44, heads=64, inner=24576, vocab=50432, length=2048)
FRACTION = 0.25


def _stack(config: Config) -> Stack:
    found = plain(config, DEFAULTS)
    rotation = rope(config, found.head_dim, DEFAULTS, fraction=FRACTION)
    mixer = from_catalogue("softmax_partial_rope", heads=found.heads_of(), rotation=rotation)
    return plain_stack(config, found, [mixer] * found.layers)


importer = Importer(
    _stack,
    ignores={
        "rotary": "not read by the model code: it always rotates",
        "use_parallel_residual": "attention and channel mixer side by side or in turn: the mixer is the same",
    },
)
