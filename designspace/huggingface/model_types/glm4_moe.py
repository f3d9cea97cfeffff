"""glm4_moe: experts; half of the channels rotate, paired by halves; q/k norm per head if `use_qk_norm`.

Source: transformers 5.24, modeling_glm4_moe.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(hidden=4096, layers=46, heads=96, kv_heads=8, inner=10944, vocab=151552, length=131072)


def _stack(config: Config) -> Stack:
    one_expert(config)
    name = "softmax_qknorm" if config.flag("use_qk_norm", default=False) else "softmax_partial_rope"
    return llama_like(config, name, DEFAULTS, fraction=0.5)


importer = Importer(_stack, ignores={**NO_WINDOW, "num_mtp_layers": "training only"})
