"""seed_oss: llama with biases on q, k, v and wide heads (80 of 128 in a width of 4096 by default).

Source: transformers 5.24, seed_oss.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(
    hidden=4096, layers=64, heads=80, kv_heads=8, head_dim=128, inner=27648, vocab=155136, length=524288
)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(
    _stack, ignores={**NO_WINDOW, "attention_out_bias": "a bias of a projection leaves the tuple as it is"}
)
