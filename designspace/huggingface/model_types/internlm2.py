"""internlm2: llama with q, k, v in one projection. Source: modeling_internlm2 of internlm/internlm2-7b."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=103168, length=2048)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
