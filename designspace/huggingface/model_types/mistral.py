"""mistral: llama with a window on every layer. Source: transformers 5.24, modeling_mistral.

`sliding_window` null switches it off; absent it is 4096. The class warns of `layer_types` and does not follow it.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import ONE_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=32000, length=4096 * 32)
WINDOW = 4096  # keys


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS, is_windowed=True, window=WINDOW)


importer = Importer(_stack, ignores=ONE_WINDOW)
