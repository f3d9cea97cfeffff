"""orion: llama between layer norms. Source: modeling_orion of OrionStarAI/Orion-14B-Base."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=5120, layers=40, heads=40, kv_heads=40, inner=15360, vocab=84608, length=4096)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS, norm="layer")


importer = Importer(_stack, ignores=NO_WINDOW)
