"""helium: llama with interleaved pairs and theta 1e5.

Source: transformers 5.24, modeling_helium (rotate_half takes x[0::2]).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, interleaved, llama_like

DEFAULTS = Defaults(
    hidden=2560, layers=24, heads=20, kv_heads=20, head_dim=128, inner=7040, vocab=48000, length=4096, theta=100000.0
)


def _stack(config: Config) -> Stack:
    interleaved(config)
    return llama_like(config, "softmax_rope", DEFAULTS, pairing="interleaved")


importer = Importer(_stack, ignores=NO_WINDOW)
