"""parallax: local linear attention. Source: fla-core 0.6.0, layers/parallax.py.

Not in the grammar: a second score and a shift of the row correct each softmax weight. Nearest is dense attention.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.outside import Outside

REASON = (
    "Each softmax weight is multiplied by 1 + m_i - r_i k_j with m_i the mean of r_i k_j under the weights, so it"
    " depends on the scores of other keys."
)


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    nearest = fla.softmax(config, hidden, norm=config.flag("qk_norm", default=False))
    mixer = Outside(outside="joint_readout", reason=REASON, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, has_length=False, hybrid=False)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
