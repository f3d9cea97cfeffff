"""stickbreaking_attn: weights by breaking a stick from the newest key on. Source: arXiv 2410.17980; fla-core 0.6.0,
layers/stickbreaking_attn.py.

Not in the grammar: the weight of a key holds the scores of all keys after it. Nearest is the forget gate of FoX.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue
from designspace.outside import Outside

REASON = (
    "The weight of key j is sigmoid(z_ij) times the product of 1 - sigmoid(z_it) over the keys t between j and i, so it"
    " depends on the scores of other keys."
)


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    sees_itself = config.flag("attend_current", default=False)
    nearest = from_catalogue(
        "fox",
        heads=fla.attention_heads(config, hidden),
        features={"norm": "rms_weighted"} if config.flag("qk_norm", default=False) else {},
        support={"mask": "causal" if sees_itself else "strict"},
    )
    mixer = Outside(outside="joint_readout", reason=REASON, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, has_length=False, hybrid=False)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
