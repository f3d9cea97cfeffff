"""Parts that many model types share: sizes, attention by layer, windows, channel mixers, the whole decoder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from designspace import catalogue
from designspace.candidate import AnyMixer, Block, ChannelMixer, ModelSpec, Norm
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack
from designspace.huggingface.rope import rotary
from designspace.mixer import MixerSpec

CACHED_MIXERS = 256
WINDOWED = ("sliding_attention", "local", "local_attention", "hybrid_sliding")
FULL = ("full_attention", "global", "attention")
NO_WINDOW = dict.fromkeys(  # keys that windowed relatives read
    ("sliding_window", "use_sliding_window", "max_window_layers", "layer_types"),
    "not read by the model code, which has no window",
)
ONE_WINDOW = dict.fromkeys(
    ("use_sliding_window", "max_window_layers", "layer_types"),
    "not read by the model code, which gives every layer the same window",
)


@dataclass(frozen=True)
class Defaults:
    """Sizes of a model class that its files may leave out. `kv_heads` None: one per head; `head_dim` None: hidden
    size / heads.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    vocab: int
    length: int
    kv_heads: int | None = None
    head_dim: int | None = None
    theta: float = 10000.0


def from_catalogue(name: str, **fields: dict[str, Any]) -> MixerSpec:
    """The mixer of a catalogue entry with some keys of some fields replaced."""
    return _from_catalogue(name, json.dumps(fields))


@lru_cache(CACHED_MIXERS)
def _from_catalogue(name: str, fields: str) -> MixerSpec:
    """`from_catalogue` of fields written as JSON: equal layers of a stack are one object."""
    data = catalogue.get(name).mixer.model_dump(mode="json")
    for field, values in json.loads(fields).items():
        is_absent = values.get("source") == "none"  # of a rotation: nothing is left of the entry's
        data[field] = values if is_absent else {**data[field], **values}
    return MixerSpec.model_validate(data)


def sizes(num_heads: int, kv_heads: int, state_dim: int, head_dim: int | None = None) -> dict[str, Any]:
    """`heads` of grouped-query attention; values as wide as keys unless `head_dim` says otherwise."""
    return {
        "num_heads": num_heads,
        "state_dim": state_dim,
        "head_dim": state_dim if head_dim is None else head_dim,
        "kv_groups": kv_heads,
        "shared": "kv",
        "layout": "multi",
    }


def head_dim(config: Config, hidden: int, num_heads: int, *, default: int | None = None) -> int:
    """Width of a head: the key where the file holds it, hidden / heads where it is null, else the class default."""
    is_null = config.is_null("head_dim")
    if config.has("head_dim") or (default is not None and not is_null):
        return config.integer("head_dim", default=default)
    if hidden % num_heads:
        raise config.error("num_attention_heads", f"{num_heads} heads do not divide the hidden size {hidden}.")
    config.note("head_dim", f"hidden size / heads = {hidden // num_heads}")
    return hidden // num_heads


def attention_sizes(config: Config, hidden: int, defaults: Defaults) -> dict[str, Any]:
    """`heads` from the keys that llama-like files share."""
    num_heads = config.integer("num_attention_heads", default=defaults.heads)
    by_class = None if config.is_null("num_key_value_heads") else defaults.kv_heads  # null: one per head
    because = "" if by_class else "one per head"
    kv_heads = config.integer("num_key_value_heads", default=by_class or num_heads, because=because)
    return sizes(num_heads, kv_heads, head_dim(config, hidden, num_heads, default=defaults.head_dim))


def trunk(config: Config, defaults: Defaults, *layer_keys: str) -> tuple[int, int, dict[str, Any]]:
    """Hidden size, number of layers and `heads`; `layer_keys` are the names of the depth."""
    hidden = config.integer("hidden_size", default=defaults.hidden)
    num_layers = config.depth(*(layer_keys or ("num_hidden_layers",)), default=defaults.layers)
    return hidden, num_layers, attention_sizes(config, hidden, defaults)


def attention(
    name: str, heads: dict[str, Any], rotation: dict[str, Any], window: int | None = None, **fields: dict[str, Any]
) -> MixerSpec:
    """The attention of a catalogue entry with these sizes, positions and window."""
    return from_catalogue(name, heads=heads, rotation=rotation, support={"window": window}, **fields)


def gated_mlp(config: Config, hidden: int, *keys: str, default: int) -> ChannelMixer:
    """A gated channel mixer of the width in the file; which activation gates it does not bear on the tuple."""
    inner = config.integer(*(keys or ("intermediate_size",)), default=default)
    return ChannelMixer(kind="swiglu", ratio=inner / hidden)


def mlp(hidden: int, inner: int) -> ChannelMixer:
    """A plain two-layer channel mixer."""
    return ChannelMixer(kind="mlp", ratio=inner / hidden)


def one_expert(config: Config) -> None:
    """Record that the channel mixer has the width of one expert."""
    config.note("experts", "the channel mixer stands for one expert; which one acts does not bear on the tuple")


def norms_on_outputs(config: Config) -> None:
    """Record that the norms stand on the outputs of the sub-layers (OLMo 2, arXiv 2501.00656)."""
    config.note("norm placement", "in code: x + norm(f(x)) in each sub-layer; the candidate has x + f(norm(x))")


def interleaved(config: Config) -> None:
    """Record that the pairing is that of GPT-J."""
    config.note("pairing", "in code: channels 2m and 2m + 1 rotate together")


def stated(config: Config, key: str, *values: object, why: str) -> None:
    """Read a key that says what the model code does anyway: anything but one of `values` is an error."""
    given = config.optional(key)
    if given is not None and given not in values:
        raise config.error(key, f"`{key}: {given!r}` contradicts the model code: {why}; remove it or write a spec.")


def clamped(config: Config) -> None:
    """Record `clip_qkv`, the bound that q, k and v are clamped to: the grammar has no clamp."""
    if config.has("clip_qkv"):
        limit = config.number("clip_qkv")
        config.approximate("clip_qkv", f"q, k, v are clamped to [-{limit:g}, {limit:g}]; the candidate does not clamp")
    config.optional("clip_qkv")


def layer(
    mixer: AnyMixer | None,
    channel: ChannelMixer,
    *,
    norm: Literal["rms", "layer"] = "rms",
    placement: Literal["pre", "post"] = "pre",
) -> Block:
    """One layer."""
    return Block(mixer=mixer, norm=Norm(kind=norm, placement=placement), channel_mixer=channel)


def model(
    config: Config,
    hidden: int,
    *,
    positions: str = "none",
    residual: str | None = None,
    vocab: int | None = None,
) -> ModelSpec:
    """Embedding sizes and the format of the residual stream (that of the checkpoint unless the code forces one)."""
    return ModelSpec.model_validate(
        {
            "model_dim": hidden,
            "vocab_size": config.integer("vocab_size", default=vocab),
            "positions": positions,
            "residual_dtype": residual or config.dtype(),
        }
    )


def layer_types(
    config: Config,
    num_layers: int | None,
    *,
    known: Sequence[str] = (*FULL, *WINDOWED),
    key: str = "layer_types",
) -> list[str] | None:
    """The kind of each layer where the list at `key` names it; any word outside `known` is an error.

    Args:
        num_layers: length of the list; None: any.
    """
    types = config.items(key)
    if types is None:
        return None
    if num_layers not in (None, len(types)):
        raise config.error(key, f"`{key}` names {len(types)} layers, the model has {num_layers}.")
    for kind in types:
        if kind not in known:
            raise config.error(key, f"`{key}` holds {kind!r}; known here: {', '.join(known)}.")
    return types


def every(interval: int, num_layers: int, *, first: int | None = None) -> list[bool]:
    """True for every `interval`-th layer: by default the last of each group, else those from layer `first` on."""
    offset = interval - 1 if first is None else first
    return [layer % interval == offset for layer in range(num_layers)]


def window_size(config: Config, default: int | None, *older: str) -> int | None:
    """`sliding_window`, or an older name of it: null switches it off, an absent key is the class default."""
    keys = ("sliding_window", *older)
    if config.is_null(*keys) or (default is None and not any(map(config.has, keys))):
        return None
    return config.integer(*keys, default=default)


def typed_windows(
    config: Config, num_layers: int, is_windowed: Sequence[bool], *, default: int | None
) -> list[int | None]:
    """Window of each layer: that of `layer_types` where present, else of the layers that `is_windowed` marks."""
    types = layer_types(config, num_layers)
    marked = is_windowed if types is None else [kind in WINDOWED for kind in types]
    size = window_size(config, default)
    return [size if windowed else None for windowed in marked]


def switched_windows(
    config: Config, num_layers: int, is_windowed: Sequence[bool], *, default: int | None
) -> list[int | None]:
    """`typed_windows`, but only if `use_sliding_window` is true (Qwen)."""
    if config.flag("use_sliding_window", default=False):
        return typed_windows(config, num_layers, is_windowed, default=default)
    layer_types(config, num_layers)
    config.optional("sliding_window")
    return [None] * num_layers


def rope(
    config: Config,
    width: int,
    defaults: Defaults,
    *,
    fraction: float = 1.0,
    pairing: str = "half",
    layer_kind: str | None = None,
) -> dict[str, Any]:
    """`rotation` of keys of `width` channels, with base and length of the class where the file is silent."""
    return rotary(
        config,
        width,
        fraction=fraction,
        theta=defaults.theta,
        pairing=pairing,
        length=defaults.length,
        layer_kind=layer_kind,
    )


def llama_like(
    config: Config,
    mixer_name: str,
    defaults: Defaults,
    *,
    is_windowed: bool = False,
    window: int | None = None,
    fraction: float = 1.0,
    pairing: str = "half",
    norm: Literal["rms", "layer"] = "rms",
    is_gated: bool = True,
    **fields: dict[str, Any],
) -> Stack:
    """A stack of equal layers: rotary attention and a channel mixer.

    Args:
        mixer_name: catalogue entry that the layers start from.
        is_windowed: `sliding_window` acts, on every layer; `window` is its class default.
        fraction, pairing: of the rotation.
        norm: around the sub-layers.
        is_gated: of the channel mixer.
        fields: further keys of the mixer, field by field.
    """
    hidden, num_layers, heads = trunk(config, defaults)
    rotation = rope(config, heads["state_dim"], defaults, fraction=fraction, pairing=pairing)
    span = window_size(config, window) if is_windowed else None
    mixer = attention(mixer_name, heads, rotation, span, **fields)
    channel = None if is_gated else mlp(hidden, config.integer("intermediate_size", default=defaults.inner))
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=defaults, channel=channel, norm=norm)


def decoder(
    config: Config,
    mixers: Sequence[AnyMixer | None],
    *,
    hidden: int,
    defaults: Defaults,
    channel: ChannelMixer | None = None,
    norm: Literal["rms", "layer"] = "rms",
) -> Stack:
    """One layer for each of `mixers`; the channel mixer is gated with `intermediate_size` unless given."""
    channel = channel or gated_mlp(config, hidden, default=defaults.inner)
    layers = [layer(mixer, channel, norm=norm) for mixer in mixers]
    seq_len = config.integer("max_position_embeddings", default=defaults.length)
    return Stack(layers, model(config, hidden, vocab=defaults.vocab), seq_len)
