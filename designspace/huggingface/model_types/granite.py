"""granite: llama whose scores are scaled by `attention_multiplier`; 1, no scale, where the key is absent.

Source: transformers 5.24, modeling_granite.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=32000, length=2048)
MULTIPLIERS = {
    "embedding_multiplier": "scales the embedding",
    "logits_scaling": "scales the logits of the vocabulary",
    "residual_multiplier": "scales what a sub-layer adds to the residual stream",
}
IGNORES = {**NO_WINDOW, **MULTIPLIERS}


def _stack(config: Config) -> Stack:
    scale = config.number("attention_multiplier", default=1.0)
    return llama_like(config, "softmax_rope", DEFAULTS, scaling={"base": scale})


importer = Importer(_stack, ignores=IGNORES)
