"""hgrn: channel-wise gated recurrence. Source: arXiv 2311.04823; fla-core 0.6.0, layers/hgrn.py and models/hgrn.

`expand_ratio` widens the channels. With `use_lower_bound` the forget gate of layer l has a learned floor, l / L at the
start, which the candidate leaves out.
"""

from typing import Any

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    channels = fla.expanded(config, "expand_ratio", size=hidden, default=1)
    conv = fla.short_conv(config, "v", default=False)
    if conv["width"]:
        config.approximate("use_short_conv", "the forget gate is convolved too; here the input alone")
    mixer = from_catalogue(
        "hgrn",
        heads={"num_heads": channels},
        decay=floor(config, hidden),
        io={"short_conv": conv, "norm_eps": fla.norm_eps(config)},
    )
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


def floor(config: Config, hidden: int) -> dict[str, Any]:
    """`decay`: with floors that rise by layer, first quantiles of all layers together; without them a plain sigmoid."""
    if config.flag("use_lower_bound", default=True):
        config.approximate("use_lower_bound", "learned floor of each layer, at first its share of the depth; here 0")
        return {}
    return {"map": "sigmoid", "initial": list(fla.sigmoid_range(config, hidden))}


importer = Importer(
    _stack,
    ignores={**fla.IGNORES, "num_heads": "of the first files; not read: every channel is a head"},
    source=fla.SOURCE,
)
