"""gptj: rotary attention on the first `rotary_dim` channels, pairs interleaved, theta 10000 in code.

Source: transformers 5.24, modeling_gptj (create_sinusoidal_positions, rotate_every_two).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import gpt2_names, plain_stack

DEFAULTS = Defaults(hidden=4096, layers=28, heads=16, inner=16384, vocab=50400, length=2048)
THETA = 10000.0
ROTARY_DIM = 64


def _stack(config: Config) -> Stack:
    found = gpt2_names(config, DEFAULTS)
    rotary_dim = config.integer("rotary_dim", default=ROTARY_DIM, least=2)
    if rotary_dim > found.head_dim or rotary_dim % 2:
        raise config.error(
            "rotary_dim", f"`rotary_dim` must be even and at most head_dim {found.head_dim}, got {rotary_dim}."
        )
    config.note("rotation", f"in code: theta {THETA:g}, pairs (2m, 2m + 1)")
    rotation = {
        "source": "constant",
        "theta": THETA,
        "fraction": rotary_dim / found.head_dim,
        "pairing": "interleaved",
    }
    mixer = from_catalogue("softmax_partial_rope", heads=found.heads_of(), rotation=rotation)
    return plain_stack(config, found, [mixer] * found.layers)


importer = Importer(
    _stack,
    ignores={
        "n_ctx": "not read by the model code",
        "rotary": "not read by the model code: it always rotates",
        "scale_attn_weights": "not read by the model code: it always divides by sqrt(head_dim)",
    },
)
