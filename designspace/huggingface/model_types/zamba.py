"""zamba: Mamba layers, before some of which one shared attention block runs. Source: transformers 5.24, modeling_zamba.

The attention block reads concat(x, x0) with x0 the embeddings, twice as wide, and its output enters the Mamba layer of
the same index: two blocks here. No position operator; the scale is (K/2)^-1/2. `n_mamba_heads` heads have B, C and dt
of their own.
"""

from typing import Any

from designspace.candidate import Block, ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    every,
    from_catalogue,
    gated_mlp,
    layer,
    model,
    sizes,
)
from designspace.huggingface.selective import (
    IGNORES,
    UNROTATED,
    channel_heads,
    mamba_mixer,
    silu_activation,
    step_range,
)
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=3712, layers=76, heads=16, inner=14848, vocab=32000, length=4096)
PERIOD, OFFSET = 6, 4
PLAIN_START = ("linear", "linear", "hybrid")
WORDS = {"linear_attention": "linear", "mamba": "linear", "hybrid": "hybrid"}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    inner = config.integer("mamba_expand", default=2) * hidden
    groups = config.integer("n_mamba_heads", default=2)
    if inner % groups:
        raise config.error("n_mamba_heads", f"`n_mamba_heads` must divide the inner width {inner}, got {groups}.")
    silu_activation(config, "hidden_mamba_act")
    mamba = mamba_mixer(
        channel_heads(inner, config.integer("mamba_d_state", default=16), groups),
        conv=config.integer("mamba_d_conv", default=4),
        step=step_range(config),
    )
    attention = from_catalogue("softmax_nope", **shared_attention(config, hidden, DEFAULTS))
    channel = gated_mlp(config, hidden, default=DEFAULTS.inner)
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    layers = serial_layers(config, _kinds(config), attention, mamba, channel)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def shared_attention(config: Config, hidden: int, defaults: Defaults) -> dict[str, dict[str, Any]]:
    """`heads` and `scaling` of the attention block, whose input is twice as wide as the model."""
    num_heads = config.integer("num_attention_heads", default=defaults.heads)
    double = config.integer("attention_hidden_size", default=2 * hidden)
    if double != 2 * hidden:
        raise config.error("attention_hidden_size", f"`attention_hidden_size` must be twice hidden_size, {2 * hidden}.")
    width = config.integer("attention_head_dim", "head_dim", default=max(double // num_heads, 1))
    heads = sizes(num_heads, config.integer("num_key_value_heads", default=num_heads), width)
    config.note("score scale", "in code: (head width / 2)^-1/2")
    return {"heads": heads, "scaling": {"base": (width / 2) ** -0.5}}


def serial_layers(
    config: Config, kinds: list[str], attention: MixerSpec, mamba: MixerSpec, channel: ChannelMixer
) -> list[Block]:
    """A `hybrid` layer is the shared attention block, then the recurrence; the others are the recurrence alone."""
    recurrent = layer(mamba, ChannelMixer(kind="none"))
    shared = layer(attention, channel)
    config.note(
        "hybrid layers",
        "two blocks each: the shared attention block on concat(x, x0), whose weights all of them share, then the"
        " recurrence; the output of the first enters the second through a linear map and no skip",
    )
    return [block for kind in kinds for block in ([shared, recurrent] if kind == "hybrid" else [recurrent])]


def _kinds(config: Config) -> list[str]:
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    if (kinds := schedule(config, num_layers, known=WORDS)) is not None:
        return kinds
    period = config.integer("attn_layer_period", default=PERIOD)
    offset = config.integer("attn_layer_offset", default=OFFSET, least=0)
    rest = every(period, max(num_layers - len(PLAIN_START), 0), first=offset)
    return [*PLAIN_START, *("hybrid" if is_hybrid else "linear" for is_hybrid in rest)][:num_layers]


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **UNROTATED,
        "attn_layer_offset": "the list of layer types decides",
        "attn_layer_period": "the list of layer types decides",
        "mamba_dt_rank": "width of the projection of the step: parameters, not the tuple",
    },
)
