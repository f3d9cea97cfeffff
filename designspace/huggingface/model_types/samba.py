"""samba: Mamba and windowed softmax layers in turn. Source: arXiv 2406.07522; fla-core 0.6.0, models/samba.

Without the key `attn` every odd layer below 18 is softmax with 18 heads and a window of 2048; with `attn: null` none
is. The step of the Mamba layers starts in [0.001, 0.1] whatever time_step_min says. `intermediate_size` is their width:
the channel mixers follow hidden_ratio alone.
"""

from designspace.candidate import AnyMixer, ChannelMixer
from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, sizes
from designspace.huggingface.selective import IGNORES, channel_heads, mamba_mixer

HIDDEN, LAYERS = 2304, 18
ATTENTION_HEADS, WINDOW = 18, 2048
RATIO = 4


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config, HIDDEN)
    inner = fla.expanded(config, "expand", size=hidden, default=2)
    if config.has("intermediate_size") and config.integer("intermediate_size") != inner:
        raise config.error("intermediate_size", f"`intermediate_size` must be expand * hidden_size = {inner}.")
    config.optional("intermediate_size")
    heads = channel_heads(inner, config.integer("state_size", default=16))
    mamba = mamba_mixer(heads, conv=config.integer("conv_kernel", default=4))
    mixers: list[AnyMixer] = [mamba] * fla.depth(config, LAYERS)
    if "attn" not in config.data:
        attention = _default_attention(config, hidden)
        mixers = [attention if index % 2 and index < LAYERS else mamba for index in range(len(mixers))]
    channel = ChannelMixer(kind="swiglu", ratio=fla.hidden_ratio(config, hidden, default=RATIO) / hidden)
    return fla.stack(config, mixers, hidden=hidden, channel=channel)


def _default_attention(config: Config, hidden: int) -> AnyMixer:
    config.account.defaulted["attn"] = f"odd layers, {ATTENTION_HEADS} heads, window {WINDOW}: of {fla.SOURCE}"
    width = fla.per_head(config, hidden, ATTENTION_HEADS, "hidden_size")
    heads = sizes(ATTENTION_HEADS, ATTENTION_HEADS, width)
    return from_catalogue("softmax_rope", heads=heads, rotation={"theta": fla.THETA}, support={"window": WINDOW})


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **fla.IGNORES,
        **dict.fromkeys(("time_step_max", "time_step_min"), "not passed to the layer, which starts in [0.001, 0.1]"),
    },
    source=fla.SOURCE,
)
