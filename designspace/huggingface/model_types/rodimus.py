"""rodimus: one wide head with a temperature-controlled step. Source: arXiv 2410.06577; fla-core 0.6.0,
layers/rodimus.py and models/rodimus.

`block_type: rodimus` is the mixer alone. In `rodimus_plus` windowed softmax and a channel mixer follow it in the same
layer: here a block of their own, which computes the same since each part has its own norm and skip.
"""

from designspace.candidate import Block, ChannelMixer
from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, layer, model, sizes
from designspace.mixer import MixerSpec

VOCAB = 126464
EXPANSION = 2  # of the hidden size, for the values
MULTIPLE = 8
RATIO = 4 / 3
SHARED_WINDOW = 1024
TYPES = ("rodimus", "rodimus_plus")


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    kind = config.text("block_type", default="rodimus_plus")
    if kind not in TYPES:
        raise config.error("block_type", f"`block_type: {kind}` is not known; known: {', '.join(TYPES)}.")
    num_layers = fla.depth(config)
    hybrid = fla.attention_layers(config, hidden, num_layers)
    channel = _channel(config, hidden) if hybrid or kind == "rodimus_plus" else None
    native = [layer(_rodimus(config, hidden), ChannelMixer(kind="none"))]
    if kind == "rodimus_plus" and channel is not None:
        native.append(layer(_shared_keys(config, hidden), channel))
        config.note("layers", "each is two blocks: Rodimus, then windowed softmax with the channel mixer")
    layers: list[Block] = []
    for index in range(num_layers):
        layers += [layer(hybrid[index], channel)] if index in hybrid and channel is not None else native
    residual = "float32" if config.flag("residual_in_fp32", default=True) else None
    return Stack(layers, model(config, hidden, residual=residual, vocab=VOCAB), fla.seq_len(config))


def _rodimus(config: Config, hidden: int) -> MixerSpec:
    inner = fla.rounded_up(EXPANSION * hidden, MULTIPLE)
    config.approximate("use_short_conv", "the convolved input also skips past the state; here it only feeds q and k")
    return from_catalogue(
        "rodimus",
        heads=sizes(1, 1, config.integer("expand_ratio", default=64), inner),
        features={"eps": config.number("k_norm_eps", default=1e-12)},
        io={
            "short_conv": fla.short_conv(config, "q", "k", default=True),
            "norm_eps": fla.norm_eps(config, 1e-5),
        },
    )


def _shared_keys(config: Config, hidden: int) -> MixerSpec:
    """Windowed softmax whose heads share one key and have their own values."""
    if not config.has("ska_attn"):
        raise config.error("ska_attn", "`ska_attn` is missing; `rodimus_plus` needs its `num_heads`.")
    config.approximate("ska_attn", "one key for all heads, a value for each; here a key for each head too")
    part = config.nested("ska_attn")
    attention = fla.softmax(part, hidden, heads=None, norm=part.flag("qk_norm", default=False))
    if "window_size" in part.data:
        return attention
    part.account.defaulted["ska_attn.window_size"] = f"{SHARED_WINDOW}, the default of {fla.SOURCE}"
    return attention.model_copy(update={"support": attention.support.model_copy(update={"window": SHARED_WINDOW})})


def _channel(config: Config, hidden: int) -> ChannelMixer:
    if config.has("intermediate_size"):
        config.optional("hidden_ratio")
        return ChannelMixer(kind="swiglu", ratio=config.integer("intermediate_size") / hidden)
    inner = fla.hidden_ratio(config, hidden, default=RATIO, share=1.0, multiple=MULTIPLE)
    return ChannelMixer(kind="swiglu", ratio=inner / hidden)


importer = Importer(
    _stack,
    ignores={
        **fla.IGNORES,
        "block_residual_in_fp32": "not read by the block, which follows residual_in_fp32",
        "hidden_ratio": "no channel mixer in `block_type: rodimus`",
        "input_gate_low_rank": "rank of the map to the gate of the values: parameters, not the tuple",
        "intermediate_size": "no channel mixer in `block_type: rodimus`",
        "ska_attn": "no softmax in `block_type: rodimus`",
    },
    source=fla.SOURCE,
)
