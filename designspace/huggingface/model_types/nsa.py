"""nsa: native sparse attention. Source: arXiv 2502.11089; fla-core 0.6.0, layers/nsa.py.

Not in the grammar: each query chooses blocks of keys by their compressed scores. Nearest is dense attention.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, sizes
from designspace.outside import Outside

REASON = (
    "Each query reads the {count} blocks of {size} keys with the largest compressed scores, and a window of {window}."
)


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    num_heads = config.integer("num_heads", default=64)
    kv_heads = num_heads if config.is_null("num_kv_heads") else config.integer("num_kv_heads", default=4)
    heads = sizes(num_heads, kv_heads, config.integer("head_dim", default=32))
    reason = REASON.format(
        count=config.integer("block_counts", default=16),
        size=config.integer("block_size", default=64),
        window="none" if config.is_null("window_size") else config.integer("window_size", default=512, least=0),
    )
    nearest = from_catalogue("softmax_rope", heads=heads, rotation=fla.rotation(config))
    mixer = Outside(outside="sparse_support", reason=reason, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, hybrid=False)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
