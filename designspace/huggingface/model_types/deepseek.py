"""deepseek: llama with experts. Source: modeling_deepseek of deepseek-ai/deepseek-moe-16b-base."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(hidden=4096, layers=30, heads=32, kv_heads=32, inner=11008, vocab=102400, length=2048)


def _stack(config: Config) -> Stack:
    one_expert(config)
    return llama_like(config, "softmax_rope", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
