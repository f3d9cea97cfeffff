"""rwkv6: RWKV-6 Finch. Source: arXiv 2404.05892; fla-core 0.6.0, layers/rwkv6.py.

Scores are not scaled; the SiLU output gate and the layer norm per head are in code, with the eps of the file. Files of
the hub (RWKV/rwkv-6-world-1b6) have the same model_type and the keys of rwkv5.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.rwkv5 import IGNORES as HUB_IGNORES
from designspace.huggingface.model_types.rwkv5 import matrix_stack
from designspace.huggingface.parts import from_catalogue, sizes

IGNORES = {
    **fla.IGNORES,
    "a_low_rank_dim": "rank of a map: parameters, not the tuple",
    "decay_low_rank_dim": "rank of a map: parameters, not the tuple",
    "norm_bias": "whether the norms around the sub-layers have a bias",
    "norm_first": "one more norm after the embedding",
    "proj_low_rank_dim": "rank of a map: parameters, not the tuple",
    "v_low_rank_dim": "rank of a map: parameters, not the tuple",
}
RATIO = 3.5
TOKEN_SHIFT = {"width": 2, "on": ["v"]}  # its state is one input, which is as wide as the values
HUB_KEYS = ("head_size", "head_size_divisor", "attention_hidden_size")


def _stack(config: Config) -> Stack:
    if any(key in config.data for key in HUB_KEYS) and not config.has("num_heads"):
        return matrix_stack(config, "rwkv6")
    hidden = fla.hidden_size(config)
    num_heads = config.integer("num_heads", default=4)
    widths = [
        fla.per_head(config, fla.expanded(config, key, size=hidden, default=default), num_heads)
        for key, default in (("expand_k", 0.5), ("expand_v", 1.0))
    ]
    mixer = from_catalogue(
        "rwkv6",
        heads=sizes(num_heads, num_heads, *widths),
        io={"short_conv": TOKEN_SHIFT, "norm_eps": fla.norm_eps(config, 1e-5)},
    )
    config.note("token shift", "in code: one of the input, by a low-rank map of the token; here a convolution of v")
    channel = fla.plain_channel(config, hidden, ratio=RATIO)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, channel=channel, norm="layer")


importer = Importer(_stack, ignores={**IGNORES, **HUB_IGNORES}, source=fla.SOURCE)
