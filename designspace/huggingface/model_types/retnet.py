"""retnet: constant decay per head with a rotation. Source: arXiv 2307.08621; fla-core 0.6.0, multiscale_retention.py.

Decay 1 - 2^(-5-h) and theta 10000 are in code; `hidden_act` is also the output gate. The class default of the hidden
ratio is 2, but null means 4.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.gla import feature_map, gate
from designspace.huggingface.parts import from_catalogue

MAX_KEY_DIM = 256  # the layer accepts no wider keys


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    heads = fla.grouped_keys(config, hidden, expand_k=1.0, expand_v=2.0, heads=8)
    num_heads, state_dim = heads["num_heads"], heads["state_dim"]
    if state_dim > MAX_KEY_DIM:
        raise config.error("num_heads", f"`num_heads` leaves keys of {state_dim}, wider than {MAX_KEY_DIM}; add heads.")
    fla.fixed(config, "use_short_conv", value=False, why="the model does not pass it to the layer")
    for key in ("conv_size", "share_conv_kernel"):
        config.optional(key)  # of the convolution that the layer does not have
    config.note("decay, rotation", "in code: 1 - 2^(-5-h) for head h from 0; theta 10000 on all channels")
    mixer = from_catalogue(
        "retnet",
        heads=heads,
        decay={"initial": [1.0 - 2.0**-5, 1.0 - 2.0 ** (-4 - num_heads)]},
        features={"map": feature_map(config, is_convolved=False)},
        io={"gate": gate(config), "norm_eps": fla.norm_eps(config)},
    )
    ratio = 4 if "hidden_ratio" in config.data else 2
    channel = fla.gated_channel(config, hidden, ratio=ratio)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, channel=channel)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
