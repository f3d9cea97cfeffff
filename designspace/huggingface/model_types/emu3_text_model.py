"""emu3_text_model: llama over text and image tokens, theta 1e6. Source: transformers 5.24, modeling_emu3."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(
    hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=184622, length=9216, theta=1000000.0
)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
