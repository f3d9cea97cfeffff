"""lightnet: linear attention with a decay from a running sum. Source: arXiv 2405.21022; fla-core 0.6.0,
layers/lightnet.py.

Not in the grammar: the decay is the ratio of two running log-sum-exps of the keys. Nearest is HGRN2, k = 1 - a.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.hgrn2 import key_width
from designspace.huggingface.parts import from_catalogue
from designspace.outside import Outside

REASON = "Decay and key are ratios of exp(k) to its running sum over all earlier tokens, so both depend on the prefix."


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    nearest = from_catalogue(
        "hgrn2",
        heads=key_width(config, hidden),
        io={"short_conv": fla.short_conv(config, "q", "k", "v", default=False), "gate": "silu"},
    )
    mixer = Outside(outside="history_dependent", reason=REASON, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
