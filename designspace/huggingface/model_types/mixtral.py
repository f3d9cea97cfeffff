"""mixtral: mistral with experts; `sliding_window` acts on every layer, null or absent switches it off.

Source: transformers 5.24, mixtral.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import ONE_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(
    hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=32000, length=4096 * 32, theta=1000000.0
)


def _stack(config: Config) -> Stack:
    one_expert(config)
    return llama_like(config, "softmax_rope", DEFAULTS, is_windowed=True)


importer = Importer(_stack, ignores=ONE_WINDOW)
