"""deltaformer: softmax attention through a delta rule. Source: arXiv 2505.19488; fla-core 0.6.0, layers/deltaformer.py.

Not in the grammar: each value is first corrected by a softmax over the earlier keys. Nearest is dense attention.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.outside import Outside

REASON = (
    "The coefficients are a softmax times the inverse of I plus a strict softmax of the keys, so the weight of a key"
    " depends on the scores of other keys."
)


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    nearest = fla.softmax(config, hidden, heads=8, norm=config.flag("qk_norm", default=False))
    mixer = Outside(outside="joint_readout", reason=REASON, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


importer = Importer(
    _stack, ignores={**fla.IGNORES, "rope_max_position_embeddings": "execution: size of a table"}, source=fla.SOURCE
)
