"""olmo2: llama with an RMS norm over the whole projection of q and of k before the rotation.

Source: transformers 5.24, modeling_olmo2.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, norms_on_outputs

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=50304, length=2048)


def _stack(config: Config) -> Stack:
    config.note("q/k norm", "in code: weighted RMS over all heads together, before the rotation")
    norms_on_outputs(config)
    return llama_like(config, "softmax_qknorm", DEFAULTS, features={"norm_over": "all_heads"})


importer = Importer(_stack, ignores=NO_WINDOW)
