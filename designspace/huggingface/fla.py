"""What the files of flash-linear-attention share: sizes, the hybrid schedule of `attn`, short convolutions, gates.

Source: fla-core 0.6.0 (repository fla-org/flash-linear-attention): fla/models/configuration_utils.py (`attn`),
fla/layers/attn.py, fla/modules/mlp.py, and per model its configuration and its layer.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

from designspace.candidate import AnyMixer, ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack
from designspace.huggingface.parts import from_catalogue, layer, mlp, model, sizes
from designspace.mixer import MixerSpec

SOURCE = "fla-core 0.6.0"
HIDDEN, LAYERS, VOCAB, LENGTH = 2048, 24, 32000, 2048  # defaults that nearly all classes share
THETA = 10000.0
NORM_EPS = 1.0e-6
GATED_MULTIPLE, PLAIN_MULTIPLE = 256, 32  # widths of channel mixers are rounded up to these
GATED_SHARE = 2 / 3  # a gated channel mixer has three matrices where a plain one has two
MAX_WIDTH = 2**24
INIT_STD = 0.02
QUANTILE = 1.645  # standard deviations from the middle to the 5 % and 95 % quantiles
GATES = {"swish": "silu", "silu": "silu", "sigmoid": "sigmoid", "gelu": "gelu"}

IGNORES = {
    "attn_mode": "execution: which kernel runs",
    "chunk_size": "execution",
    "conv_bias": "a bias of the convolution leaves the tuple as it is",
    "elementwise_affine": "whether the output norm has a gain",
    "fuse_cross_entropy": "execution",
    "fuse_linear_cross_entropy": "execution",
    "fuse_norm": "execution",
    "fuse_swiglu": "execution",
    "gate_low_rank_dim": "rank of the map to a gate: parameters, not the tuple",
    "norm_first": f"not read by {SOURCE}",
    "use_l2warp": "training loss",
}


def hidden_size(config: Config, default: int = HIDDEN) -> int:
    """Width of the residual stream."""
    return config.integer("hidden_size", default=default)


def depth(config: Config, default: int = LAYERS) -> int:
    """Number of layers."""
    return config.depth("num_hidden_layers", default=default)


def expanded(config: Config, *keys: str, size: int, default: float) -> int:
    """`size` times the ratio at one of `keys`, which must come to an integer."""
    width = config.number(*keys, default=default) * size
    if not 1 <= width <= MAX_WIDTH or not math.isclose(width, round(width)):
        raise config.error(keys[0], f"`{keys[0]}` times {size} must be an integer up to {MAX_WIDTH}, got {width:g}.")
    return round(width)


def per_head(config: Config, width: int, num_heads: int, key: str = "num_heads") -> int:
    """Channels of a head."""
    if width % num_heads:
        raise config.error(key, f"`{key}`: {num_heads} heads do not divide {width} channels.")
    return width // num_heads


def fixed(config: Config, key: str, value: object, why: str) -> None:
    """Read a key that the code of 0.6.0 does not follow: any value but the one it always has is an error."""
    given = config.optional(key)
    if given is not None and given != value:
        raise config.error(key, f"`{key}: {given!r}` has no effect in {SOURCE}: {why}; remove it or write a spec.")


def grouped_keys(config: Config, hidden: int, *, expand_k: float, expand_v: float, heads: int = 4) -> dict[str, Any]:
    """`heads` of GLA, RetNet, linear attention: widths are shares of the hidden size, `num_kv_heads` shares k and v."""
    num_heads = config.integer("num_heads", default=heads)
    state_dim = per_head(config, expanded(config, "expand_k", size=hidden, default=expand_k), num_heads)
    head_dim = per_head(config, expanded(config, "expand_v", size=hidden, default=expand_v), num_heads)
    return sizes(num_heads, _kv_heads(config, num_heads), state_dim, head_dim)


def grouped_values(config: Config, *, heads: int, state_dim: int, expand_v: float) -> dict[str, Any]:
    """`heads` of the gated delta family: `num_v_heads` states share the q and k of `num_heads` (GVA)."""
    num_keys = config.integer("num_heads", default=heads)
    num_values = config.integer("num_v_heads", default=num_keys, because="num_heads")
    if num_values % num_keys:
        raise config.error("num_v_heads", f"`num_v_heads` must be a multiple of {num_keys}, got {num_values}.")
    width = config.integer("head_dim", default=state_dim)
    value_width = expanded(config, "expand_v", size=width, default=expand_v)
    return sizes(num_values, num_keys, width, value_width) | {"shared": "qk"}


def attention_heads(config: Config, hidden: int, *, heads: int | None = 32) -> dict[str, Any]:
    """`heads` of softmax attention, as wide as the hidden size."""
    num_heads = config.integer("num_heads", default=heads)
    return sizes(num_heads, _kv_heads(config, num_heads), per_head(config, hidden, num_heads))


def _kv_heads(config: Config, num_heads: int) -> int:
    kv_heads = config.integer("num_kv_heads", default=num_heads, because="num_heads")
    if num_heads % kv_heads:
        raise config.error("num_kv_heads", f"`num_kv_heads` must divide the {num_heads} heads, got {kv_heads}.")
    return kv_heads


def window(config: Config) -> dict[str, Any]:
    """`support` with the window, which counts the current key; null or absent: none."""
    return {"window": config.integer("window_size") if config.optional("window_size") is not None else None}


def rotation(config: Config) -> dict[str, Any]:
    """`rotation` of all channels, halves paired; fla stretches no angles."""
    return {"source": "constant", "theta": config.number("rope_theta", default=THETA), "fraction": 1.0}


def softmax(config: Config, hidden: int, *, heads: int | None = 32, norm: bool = False) -> MixerSpec:
    """Rotary attention from num_heads, num_kv_heads, rope_theta, window_size; `norm`: weighted RMS on q and k."""
    return from_catalogue(
        "softmax_qknorm" if norm else "softmax_rope",
        heads=attention_heads(config, hidden, heads=heads),
        rotation=rotation(config),
        support=window(config),
    )


def short_conv(config: Config, *streams: Literal["q", "k", "v"], default: bool) -> dict[str, Any]:
    """`short_conv` on the streams where use_short_conv is true, else none."""
    if config.flag("use_short_conv", default=default):
        fixed(config, "share_conv_kernel", value=False, why="q, k and v have convolutions of their own")
        return {"width": config.integer("conv_size", default=4), "on": list(streams)}
    for key in ("conv_size", "share_conv_kernel"):
        config.optional(key)  # of a convolution that is switched off
    return {"width": 0, "on": []}


def output_gate(config: Config, key: str, *, default: str) -> str:
    """`io.gate` from the name of an activation."""
    name = config.text(key, default=default)
    if name not in GATES:
        raise config.error(key, f"`{key}: {name}` gates the output; known: {', '.join(GATES)}.")
    return GATES[name]


def norm_eps(config: Config, default: float = NORM_EPS) -> float:
    """eps of the norms; the output norm of the mixers has it too."""
    return config.number("norm_eps", default=default)


def erase_gain(config: Config) -> tuple[float, float]:
    """Range of beta: up to 2 where the eigenvalues may be negative."""
    return (0.0, 2.0) if config.flag("allow_neg_eigval", default=False) else (0.0, 1.0)


def sigmoid_range(config: Config, hidden: int, bias: float = 0.0) -> tuple[float, float]:
    """5 % and 95 % quantiles of sigmoid(W x + bias) at initialisation, x of unit RMS, W of `initializer_range`."""
    spread = QUANTILE * config.number("initializer_range", default=INIT_STD) * math.sqrt(hidden)
    return sigmoid(bias - spread), sigmoid(bias + spread)


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(-logit)), without overflow."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


def gated_channel(config: Config, hidden: int, *, ratio: float = 4) -> ChannelMixer:
    """The gated channel mixer: intermediate_size, or 2/3 of hidden_ratio times the hidden size, rounded up to 256."""
    if not config.has("intermediate_size"):
        config.optional("intermediate_size")
        return ChannelMixer(kind="swiglu", ratio=hidden_ratio(config, hidden, default=ratio) / hidden)
    config.optional("hidden_ratio")  # intermediate_size has the last word
    return ChannelMixer(kind="swiglu", ratio=config.integer("intermediate_size") / hidden)


def plain_channel(config: Config, hidden: int, *, ratio: float) -> ChannelMixer:
    """The two-layer channel mixer of RWKV: intermediate_size, or hidden_ratio times the hidden size, up to 32."""
    if not config.has("intermediate_size"):
        config.optional("intermediate_size")
        return mlp(hidden, hidden_ratio(config, hidden, default=ratio, share=1.0, multiple=PLAIN_MULTIPLE))
    config.optional("hidden_ratio")
    return mlp(hidden, config.integer("intermediate_size"))


def hidden_ratio(
    config: Config, hidden: int, *, default: float, share: float = GATED_SHARE, multiple: int = GATED_MULTIPLE
) -> int:
    """Width of a channel mixer: `share` of hidden_ratio times the hidden size, rounded up to a multiple."""
    width = config.number("hidden_ratio", default=default) * hidden * share
    if not 1 <= width <= MAX_WIDTH:
        raise config.error("hidden_ratio", f"`hidden_ratio` gives a width of {width:g}; allowed: 1 to {MAX_WIDTH}.")
    inner = rounded_up(int(width), multiple)
    config.note("intermediate_size", f"from hidden_ratio, rounded up to a multiple of {multiple}: {inner}")
    return inner


def rounded_up(width: int, multiple: int) -> int:
    """The least multiple that is not below `width`."""
    return multiple * -(-width // multiple)


def stack(
    config: Config,
    mixers: Sequence[AnyMixer],
    *,
    hidden: int,
    channel: ChannelMixer | None = None,
    norm: Literal["rms", "layer"] = "rms",
    has_length: bool = True,
    hybrid: bool = True,
) -> Stack:
    """One layer for each of `mixers`, softmax attention in its place where `attn` says so.

    Args:
        channel: the gated one of the file by default.
        has_length: the class has max_position_embeddings.
        hybrid: the class knows `attn`.
    """
    channel = channel or gated_channel(config, hidden)
    attention = attention_layers(config, hidden, len(mixers)) if hybrid else {}
    layers = [layer(attention.get(index, mixer), channel, norm=norm) for index, mixer in enumerate(mixers)]
    return Stack(layers, model(config, hidden, vocab=VOCAB), seq_len(config, has_length=has_length))


def seq_len(config: Config, *, has_length: bool = True) -> int:
    """Length the model is made for."""
    _attention_residuals(config)
    if has_length or config.has("max_position_embeddings"):
        return config.integer("max_position_embeddings", default=LENGTH)
    config.optional("max_position_embeddings")
    config.note("seq_len", f"no key: the training length {LENGTH}")
    return LENGTH


def attention_layers(config: Config, hidden: int, num_layers: int) -> dict[int, MixerSpec]:
    """Layer -> softmax attention, from `attn`: one object or a list of them, each with its `layers`."""
    found: dict[int, MixerSpec] = {}
    for part in config.objects("attn"):
        layers = part.integers("layers")
        if layers is None:
            raise part.error("layers", "`attn.layers` is missing; give the indices of the softmax layers.")
        fixed(part, "qk_norm", value=False, why="the softmax layers of a hybrid have no norm")
        mixer = softmax(part, hidden, heads=None)
        for index in layers:
            if index >= num_layers or index in found:
                raise part.error(
                    "layers", f"`attn.layers` names layer {index} twice or beyond the {num_layers} layers."
                )
            found[index] = mixer
    return found


def _attention_residuals(config: Config) -> None:
    if config.has("attnres_block_size"):
        config.integer("attnres_block_size")
        config.approximate(
            "attnres_block_size", "each sub-layer reads a learned mixture of earlier outputs; here their plain sum"
        )
    else:
        config.optional("attnres_block_size")
