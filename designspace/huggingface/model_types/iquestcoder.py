"""iquestcoder: llama with 5 queries per key.

Source: transformers 5.24, iquestcoder (configuration; the model is that of llama).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=5120, layers=80, heads=40, kv_heads=8, head_dim=128, inner=27648, vocab=76800, length=131072)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
