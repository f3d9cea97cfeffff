"""raven: slot attention with routed slots. Source: fla-core 0.6.0, layers/raven.py.

Not in the grammar for the reason given in abc.py; a router also picks the slots that a token writes.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.abc import importer as bounded
from designspace.huggingface.model_types.abc import slot_stack


def _stack(config: Config) -> Stack:
    fla.fixed(config, "use_short_conv", value=False, why="the layer has no convolution")
    return slot_stack(config, expand_k=1.0)


_PART = "of the mixer outside the grammar"
importer = Importer(
    _stack,
    ignores={
        **bounded.ignores,
        **dict.fromkeys(("add_gumbel_noise", "bias_rmm", "decay_type", "rope_theta", "router_score"), _PART),
        **dict.fromkeys(("router_type", "topk"), _PART),
    },
    source=fla.SOURCE,
)
