"""nanochat: RMS without weights on q and k, after a rotation by the negative angles; plain channel mixer.

Source: transformers 5.24, modeling_nanochat (rotate_half returns (x2, -x1)); karpathy/nanochat.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=768, layers=12, heads=6, inner=8192, vocab=50304, length=2048)
NORM = {"norm": "rms", "norm_order": "after_rotation"}


def _stack(config: Config) -> Stack:
    config.note("q/k norm", "in code: RMS per head after the rotation, without weights")
    config.note("direction", "in code: by -angle; the same function once the halves of the channels change places")
    return llama_like(config, "softmax_qknorm", DEFAULTS, is_gated=False, features=NORM)


importer = Importer(_stack, ignores={**NO_WINDOW, "final_logit_softcapping": "of the logits of the vocabulary"})
