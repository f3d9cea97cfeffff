"""xverse: llama. Source: modeling_xverse of xverse/XVERSE-13B."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=5120, layers=40, heads=40, inner=13824, vocab=100278, length=8192)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(_stack, ignores={**NO_WINDOW, "max_tokenizer_truncation": "of the tokenizer"})
