"""glm4v_text: glm4 with head_dim = hidden size / heads; a text token has one position in all axes of the rotation.

Source: transformers 5.24, modeling_glm4v.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, interleaved, llama_like

DEFAULTS = Defaults(hidden=4096, layers=40, heads=32, kv_heads=2, inner=13696, vocab=151552, length=32768)


def _stack(config: Config) -> Stack:
    interleaved(config)
    config.note("norm placement", "in code: a norm before and after each sub-layer; the candidate has the first")
    return llama_like(config, "softmax_partial_rope", DEFAULTS, fraction=0.5, pairing="interleaved")


importer = Importer(_stack, ignores=NO_WINDOW)
