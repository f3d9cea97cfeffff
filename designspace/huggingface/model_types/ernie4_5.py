"""ernie4_5: llama with interleaved pairs and theta 5e5.

Source: transformers 5.24, modeling_ernie4_5 (rotate_half takes x[0::2]).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, interleaved, llama_like

DEFAULTS = Defaults(
    hidden=1024, layers=18, heads=16, kv_heads=2, head_dim=128, inner=3072, vocab=103424, length=131072, theta=500000.0
)


def _stack(config: Config) -> Stack:
    interleaved(config)
    return llama_like(config, "softmax_rope", DEFAULTS, pairing="interleaved")


importer = Importer(_stack, ignores=NO_WINDOW)
