"""precond_kda: Kimi Delta Attention with preconditioned keys. Source: arXiv 2604.21100; fla-core 0.6.0,
layers/precond_kda.py.

Not in the grammar for the reason given in precond_gated_deltanet.py. Nearest is Kimi Delta Attention.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types import kda
from designspace.huggingface.model_types.precond_gated_deltanet import IGNORES, REASON
from designspace.outside import Outside


def _stack(config: Config) -> Stack:
    mixer = Outside(outside="history_dependent", reason=REASON, nearest=kda.mixer(config))
    return fla.stack(config, [mixer] * fla.depth(config), hidden=fla.hidden_size(config))


importer = Importer(_stack, ignores=IGNORES, source=fla.SOURCE)
