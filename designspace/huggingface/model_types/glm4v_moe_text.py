"""glm4v_moe_text: glm4_moe without a norm on q and k; a text token has one position in all axes of the rotation.

Source: transformers 5.24, modeling_glm4v_moe, which does not read `use_qk_norm`.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(hidden=4096, layers=46, heads=96, kv_heads=8, inner=10944, vocab=151424, length=65536)


def _stack(config: Config) -> Stack:
    one_expert(config)
    return llama_like(config, "softmax_partial_rope", DEFAULTS, fraction=0.5)


importer = Importer(_stack, ignores={**NO_WINDOW, "use_qk_norm": "not read by the model code, which has no q/k norm"})
