"""precond_gated_deltanet: Gated DeltaNet with preconditioned keys. Source: arXiv 2604.21100; fla-core 0.6.0,
layers/precond_gated_deltanet.py.

Not in the grammar: a second recurrence over the squares of the keys scales each key. Nearest is Gated DeltaNet.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types import gated_deltanet
from designspace.outside import Outside

REASON = "A second recurrence over all earlier keys scales each key that is written, so a key depends on the prefix."
_PART = "of the mixer outside the grammar"
IGNORES = {**fla.IGNORES, **dict.fromkeys(("a_log_init_lower", "log_atk_scale_init", "squash_eps", "squash_x"), _PART)}


def _stack(config: Config) -> Stack:
    mixer = Outside(outside="history_dependent", reason=REASON, nearest=gated_deltanet.mixer(config))
    layers = [mixer] * fla.depth(config, gated_deltanet.LAYERS)
    return fla.stack(config, layers, hidden=fla.hidden_size(config))


importer = Importer(_stack, ignores=IGNORES, source=fla.SOURCE)
