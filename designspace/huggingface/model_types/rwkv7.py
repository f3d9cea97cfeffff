"""rwkv7: RWKV-7 Goose. Source: arXiv 2503.14456; fla-core 0.6.0, layers/rwkv7.py.

Keys fill the hidden size in heads of `head_dim`; `value_dim` may widen the values, layer by layer. The eps of the
output norm is head_dim times norm_eps. Value residual, key scaling and the gate's low-rank map are in code.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.rwkv6 import IGNORES, TOKEN_SHIFT
from designspace.huggingface.parts import from_catalogue, sizes

DEFAULT_WIDTH = 64
RATIO = 4
UNREAD_HEADS = 32  # in files of every width (768 too): the layer reads num_heads only where head_dim is null


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    num_layers = fla.depth(config)
    width = _head_dim(config, hidden)
    num_heads = fla.per_head(config, hidden, width, "head_dim")
    eps = width * fla.norm_eps(config, 1e-5)
    mixers = [
        from_catalogue(
            "rwkv7",
            heads=sizes(num_heads, num_heads, width, fla.per_head(config, values, num_heads, "value_dim")),
            io={"short_conv": TOKEN_SHIFT, "norm_eps": eps},
        )
        for values in _value_dims(config, hidden, num_layers)
    ]
    config.note("token shift", "in code: one of the input, learned per channel; here a convolution of v")
    channel = fla.plain_channel(config, hidden, ratio=RATIO)
    return fla.stack(config, mixers, hidden=hidden, channel=channel, norm="layer")


def _head_dim(config: Config, hidden: int) -> int:
    """`head_dim`; where it is null, hidden size / num_heads. Both must agree, but for the 32 of converted files."""
    if config.is_null("head_dim"):
        return fla.per_head(config, hidden, config.integer("num_heads"))
    width = config.integer("head_dim", default=DEFAULT_WIDTH)
    heads = config.integer("num_heads") if config.has("num_heads") else None
    if heads is not None and heads != UNREAD_HEADS and heads * width != hidden:
        raise config.error("num_heads", f"`num_heads` must be hidden size / head_dim = {hidden / width:g}.")
    config.optional("num_heads")
    return width


def _value_dims(config: Config, hidden: int, num_layers: int) -> list[int]:
    """Width of all values of each layer, a multiple of the hidden size: one number, or one per layer."""
    given = config.optional("value_dim")
    if given is None:
        return [hidden] * num_layers
    widths = config.integers("value_dim") if isinstance(given, list) else [config.integer("value_dim")] * num_layers
    if widths is None or len(widths) != num_layers:
        raise config.error("value_dim", f"`value_dim` must have one item for each of the {num_layers} layers.")
    for width in widths:
        if width < hidden or width % hidden:
            raise config.error("value_dim", f"`value_dim` must be a multiple of the hidden size {hidden}, got {width}.")
    return widths


importer = Importer(_stack, ignores=IGNORES, source=fla.SOURCE)
