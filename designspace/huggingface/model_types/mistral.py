"""mistral: llama with a window on every layer. Source: transformers 5.24, modeling_mistral.

`sliding_window` null switches it off; absent it is 4096. `layer_types`, where a file holds it, says which layers have
the window (the class of 5.24 warns and gives it to all of them).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=32000, length=4096 * 32)
WINDOW = 4096  # keys


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS, always_windowed=True, default_window=WINDOW)


importer = Importer(_stack, ignores={})
