"""llama: rotary grouped-query attention, scale 1/sqrt(head_dim). Source: transformers 5.24, modeling_llama."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=32000, length=2048)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
