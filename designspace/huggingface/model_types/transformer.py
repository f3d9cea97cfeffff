"""transformer: the rotary softmax baseline of flash-linear-attention. Source: fla-core 0.6.0, layers/attn.py.

The window counts the current key. No rope scaling exists in this code.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    mixer = fla.softmax(config, hidden, norm=config.flag("qk_norm", default=False))
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, hybrid=False)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
