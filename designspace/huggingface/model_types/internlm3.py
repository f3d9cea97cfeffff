"""internlm3: llama with biases by key.

Source: transformers 5.24, internlm3 (configuration; the model is that of llama).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=4096, layers=48, heads=32, kv_heads=2, head_dim=128, inner=10240, vocab=128512, length=32768)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
