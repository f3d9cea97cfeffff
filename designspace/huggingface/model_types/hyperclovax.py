"""hyperclovax: granite with a scale of 1/sqrt(head_dim) where `attention_multiplier` is absent or null.

Source: transformers 5.24, configuration_hyperclovax and modeling_hyperclovax.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.granite import IGNORES
from designspace.huggingface.parts import Defaults, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=32000, length=2048)


def _stack(config: Config) -> Stack:
    config.optional("attention_multiplier")
    scale = config.number("attention_multiplier") if config.has("attention_multiplier") else "n^-1/2"
    return llama_like(config, "softmax_rope", DEFAULTS, scaling={"base": scale})


importer = Importer(_stack, ignores={**IGNORES, "use_post_norm": "of the norms around the sub-layers"})
