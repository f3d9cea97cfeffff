"""olmo: llama between layer norms without weights; q, k, v may be clamped. Source: transformers 5.24, modeling_olmo."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, clamped, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=50304, length=2048)


def _stack(config: Config) -> Stack:
    clamped(config)
    return llama_like(config, "softmax_rope", DEFAULTS, norm="layer")


importer = Importer(_stack, ignores=NO_WINDOW)
