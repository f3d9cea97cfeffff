"""What stacks of a linear recurrence and attention share: schedules, Gated DeltaNet, Kimi Delta Attention.

Sources: Gated DeltaNet arXiv 2412.06464, Kimi Delta Attention arXiv 2510.26692;
transformers 5.24, modeling_qwen3_next, modeling_kimi_linear.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.latent import Latent, latent_heads, no_rotation, query_rank
from designspace.huggingface.parts import Defaults, from_catalogue, layer_types
from designspace.huggingface.selective import grouped_heads, silu_activation
from designspace.mixer import MixerSpec

SCHEDULES = ("layer_types", "layers_block_type")
RECURRENT_OR_FULL = {
    "linear_attention": "linear",
    "mamba": "linear",
    "full_attention": "full",
    "attention": "full",
}
CONV_TAPS = 4


@dataclass(frozen=True)
class DeltaDefaults:
    """Class defaults of the `linear_*` keys: q/k heads, value heads, widths of a key and of a value."""

    key_heads: int
    value_heads: int
    key_dim: int = 128
    value_dim: int = 128


def schedule(
    config: Config, num_layers: int | None, *, known: Mapping[str, str] = RECURRENT_OR_FULL
) -> list[str] | None:
    """The kind of each layer by `layer_types` or `layers_block_type`, None where the file holds neither.

    Args:
        num_layers: length of the list; None: the list says how many layers there are.
        known: word of the file -> kind.
    """
    lists: dict[str, list[str]] = {}
    for key in SCHEDULES:
        if (words := layer_types(config, num_layers, known=tuple(known), key=key)) is not None:
            lists[key] = [known[word] for word in words]
    if not lists:
        return None
    (key, kinds), *others = lists.items()
    for other, same in others:
        if same != kinds:
            raise config.error(other, f"`{other}` contradicts `{key}`; they name one schedule.")
    return kinds


def listed(config: Config, key: str, num_layers: int, *, first: int = 0) -> set[int] | None:
    """Layers that the list at `key` names, counted from 0; the file counts them from `first`. None without a list."""
    indices = config.integers(key, least=first)
    if indices is None:
        return None
    for index in indices:
        if index - first >= num_layers:
            raise config.error(key, f"`{key}` names layer {index}; the model has {num_layers} layers from {first} on.")
    return {index - first for index in indices}


def gated_delta(config: Config, defaults: DeltaDefaults, *, negative: bool = False) -> MixerSpec:
    """Gated DeltaNet from the `linear_*` keys: key heads serve value heads in groups (grouped-value attention).

    Args:
        negative: beta in [0, 2], so that an eigenvalue of the transition can be negative.
    """
    silu_activation(config)
    heads = grouped_heads(
        config,
        num_heads=config.integer("linear_num_value_heads", default=defaults.value_heads),
        head_dim=config.integer("linear_value_head_dim", default=defaults.value_dim),
        state_dim=config.integer("linear_key_head_dim", default=defaults.key_dim),
        groups=config.integer("linear_num_key_heads", default=defaults.key_heads),
        key="linear_num_key_heads",
    )
    taps = config.integer("linear_conv_kernel_dim", default=CONV_TAPS)
    return from_catalogue(
        "gated_deltanet",
        heads=heads,
        erase={"gain": [0.0, 2.0 if negative else 1.0]},
        io={"short_conv": {"width": taps, "on": ["q", "k", "v"]}},
    )


def kimi_delta(*, num_heads: int, head_dim: int, taps: int, log_floor: float | None) -> MixerSpec:
    """Kimi Delta Attention with square states.

    Args:
        log_floor: a = exp(log_floor sigmoid(x)) (the "safe" gate); None: a = exp(-A softplus(x)).
    """
    decay: dict[str, Any] = {}
    if log_floor is not None:
        decay = {"map": "exp_lb_sigmoid", "range": [math.exp(log_floor), 1.0], "initial": None}
    return from_catalogue(
        "kda",
        decay=decay,
        heads={"num_heads": num_heads, "state_dim": head_dim, "head_dim": head_dim},
        io={"short_conv": {"width": taps, "on": ["q", "k", "v"]}},
    )


def log_floor(config: Config, key: str, value: float) -> float:
    """The lower bound of the logarithm of a decay, which must be negative and not so low that its exp is 0."""
    if not -80.0 <= value < 0:
        raise config.error(key, f"`{key}` bounds the logarithm of the decay: it must lie in [-80, 0), got {value:g}.")
    return value


def unrotated_latent(
    config: Config, hidden: int, defaults: Defaults, latent: Latent, **fields: dict[str, Any]
) -> MixerSpec:
    """Latent attention without positions: the channels that the heads share do not rotate.

    Args:
        fields: further keys of the mixer, field by field.
    """
    heads = latent_heads(config, hidden, defaults, latent)
    query_rank(config, latent)
    return no_rotation(from_catalogue("mla", heads=heads, scaling={"base": "n^-1/2"}, **fields))
