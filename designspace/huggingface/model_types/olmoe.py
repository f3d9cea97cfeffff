"""olmoe: experts; RMS norm over the whole projection of q and of k before the rotation; q, k, v may be clamped.

Source: transformers 5.24, modeling_olmoe.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, clamped, llama_like, one_expert

DEFAULTS = Defaults(hidden=2048, layers=16, heads=16, inner=2048, vocab=50304, length=4096)


def _stack(config: Config) -> Stack:
    config.note("q/k norm", "in code: weighted RMS over all heads together, before the rotation")
    clamped(config)
    one_expert(config)
    return llama_like(config, "softmax_qknorm", DEFAULTS, features={"norm_over": "all_heads"})


importer = Importer(_stack, ignores=NO_WINDOW)
