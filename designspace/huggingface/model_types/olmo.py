"""olmo: llama between layer norms without weights; q, k, v may be clamped. Source: transformers 5.24, modeling_olmo.

The files of 2024 at allenai/OLMo-1B have this model_type and the keys of hf_olmo.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.hf_olmo import importer as first_format
from designspace.huggingface.parts import NO_WINDOW, Defaults, clamped, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=50304, length=2048)


def _stack(config: Config) -> Stack:
    if config.has("d_model"):
        return first_format.stack(config)
    clamped(config)
    return llama_like(config, "softmax_rope", DEFAULTS, norm="layer")


importer = Importer(_stack, ignores={**first_format.ignores, **NO_WINDOW})
