"""arcee: llama whose channel mixer is not gated (ReLU squared). Source: transformers 5.24, modeling_arcee."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=2560, layers=32, heads=32, inner=18432, vocab=32000, length=4096)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS, is_gated=False)


importer = Importer(_stack, ignores=NO_WINDOW)
