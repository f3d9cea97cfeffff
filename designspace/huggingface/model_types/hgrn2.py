"""hgrn2: HGRN with an outer-product state. Source: arXiv 2404.07904; fla-core 0.6.0, layers/hgrn2.py.

`expand_ratio` is the width of a key, and the number of heads follows from it: hidden size / expand_ratio.
"""

from typing import Any

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.hgrn import floor
from designspace.huggingface.parts import from_catalogue, sizes

DEFAULT_WIDTH = 128


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    mixer = from_catalogue(
        "hgrn2",
        heads=key_width(config, hidden),
        decay=floor(config, hidden),
        io={
            "short_conv": fla.short_conv(config, "q", "k", "v", default=False),
            "norm_eps": fla.norm_eps(config),
        },
    )
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


def key_width(config: Config, hidden: int) -> dict[str, Any]:
    """`heads` from expand_ratio, or from num_heads where that is null; both must agree."""
    if config.is_null("expand_ratio"):
        num_heads = config.integer("num_heads")
        width = fla.per_head(config, hidden, num_heads)
        return sizes(num_heads, num_heads, width, width)
    width = config.integer("expand_ratio", default=DEFAULT_WIDTH)
    num_heads = fla.per_head(config, hidden, width, "expand_ratio")
    config.note("num_heads", f"hidden size / expand_ratio = {num_heads}")
    if config.has("num_heads") and config.integer("num_heads") != num_heads:
        raise config.error("num_heads", f"`num_heads` must be hidden size / expand_ratio = {num_heads}; remove it.")
    config.optional("num_heads")
    return sizes(num_heads, num_heads, width, width)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
