"""moba: mixture of block attention. Source: arXiv 2502.13189; fla-core 0.6.0, layers/moba.py.

Not in the grammar: each query chooses blocks of keys by their mean key. Nearest is dense attention.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.outside import Outside

REASON = "Each query reads the {count} blocks of {size} keys whose mean key has the largest score."


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    reason = REASON.format(
        count=config.integer("moba_topk", default=4), size=config.integer("moba_chunk_size", default=256)
    )
    nearest = fla.softmax(config, hidden, norm=config.flag("qk_norm", default=False))
    if config.flag("use_output_gate", default=False):
        nearest = nearest.model_copy(update={"io": nearest.io.model_copy(update={"gate": "sigmoid"})})
    mixer = Outside(outside="sparse_support", reason=reason, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, hybrid=False)


importer = Importer(_stack, ignores={**fla.IGNORES, "use_flash_moba": "execution"}, source=fla.SOURCE)
