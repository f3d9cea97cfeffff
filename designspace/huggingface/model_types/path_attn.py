"""path_attn: softmax through products of Householder-like matrices. Source: arXiv 2505.16381; fla-core 0.6.0,
layers/path_attn.py.

With `use_forget_gate` the log of the gate is multiplied by the scale of the score, unlike FoX.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    forgets = config.flag("use_forget_gate", default=False)
    if config.flag("use_w_shortconv", default=True):
        config.approximate("use_w_shortconv", "w passes a convolution of width 3 and a SiLU; here a projection alone")
    mixer = from_catalogue("path_fox" if forgets else "path", heads=fla.attention_heads(config, hidden))
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, has_length=False, hybrid=False)


importer = Importer(
    _stack,
    ignores={**fla.IGNORES, "use_low_rank_w": "rank of the map to w: parameters, not the tuple"},
    source=fla.SOURCE,
)
