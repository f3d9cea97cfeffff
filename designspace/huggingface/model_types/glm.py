"""glm: llama that rotates half of the channels, in interleaved pairs. Source: transformers 5.24, modeling_glm."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, interleaved, llama_like

DEFAULTS = Defaults(
    hidden=4096, layers=40, heads=32, kv_heads=2, head_dim=128, inner=13696, vocab=151552, length=131072
)


def _stack(config: Config) -> Stack:
    interleaved(config)
    return llama_like(config, "softmax_partial_rope", DEFAULTS, fraction=0.5, pairing="interleaved")


importer = Importer(_stack, ignores=NO_WINDOW)
