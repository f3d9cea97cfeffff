"""stablelm_epoch: stablelm under its name before transformers had it, with `rope_pct` for the rotating share.

Source: modeling_stablelm_epoch of stabilityai/stablelm-3b-4e1t (first revision).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.model_types.stablelm import DEFAULTS
from designspace.huggingface.parts import NO_WINDOW, llama_like


def _stack(config: Config) -> Stack:
    if (factor := config.number("rotary_scaling_factor", default=1.0)) != 1:
        raise unsupported(config, "rotary_scaling_factor", factor)
    config.integer("num_attention_heads", "num_heads", default=DEFAULTS.heads)  # the first files hold both names
    share = config.number("rope_pct", default=0.25)
    return llama_like(config, "softmax_partial_rope", DEFAULTS, fraction=share, norm="layer")


importer = Importer(_stack, ignores=NO_WINDOW)
