"""What the Gemma models share: windowed and full layers in a fixed pattern, each kind with its own rotation, and a
score scale that may differ from 1/sqrt(head_dim).

Source: transformers 5.24, configuration_gemma2, gemma3, gemma3n, gemma4 (`__post_init__`).
"""

from collections.abc import Sequence
from typing import Any

from designspace.candidate import AnyMixer
from designspace.huggingface.bidirectional import both_ways
from designspace.huggingface.config import Config
from designspace.huggingface.parts import layer_types, window_size
from designspace.huggingface.rope import rotary
from designspace.mixer import MixerSpec

FULL, SLIDING = "full_attention", "sliding_attention"
GLOBAL_THETA, LOCAL_THETA = 1_000_000.0, 10_000.0
PATTERN_KEYS = ("sliding_window_pattern", "_sliding_window_pattern")
BOTH_WAYS = "`use_bidirectional_attention` lets every token read later ones, so there is no causal mixer."
IGNORES = {
    "cache_implementation": "execution",
    "final_logit_softcapping": "caps the logits of the tokens, outside the mixer",
    FULL: "no layer of this kind",
    SLIDING: "no layer of this kind",
}


def every_nth_full(num_layers: int, interval: int) -> list[str]:
    """One full layer at the end of each group of `interval`."""
    return [SLIDING if (index + 1) % interval else FULL for index in range(num_layers)]


def layer_kinds(config: Config, num_layers: int, *, interval: int) -> list[str]:
    """Kind of each layer: layer_types, else every `sliding_window_pattern`-th layer is full; both must agree."""
    types = layer_types(config, num_layers, known=(FULL, SLIDING))
    stated = any(config.has(key) for key in PATTERN_KEYS)
    if types is not None and not stated:
        return types
    by_pattern = every_nth_full(num_layers, config.integer(*PATTERN_KEYS, default=interval))
    if types is not None and types != by_pattern:
        raise config.error("layer_types", "`layer_types` contradicts `sliding_window_pattern`; keep one of them.")
    return by_pattern


def window(config: Config, *, default: int) -> int | None:
    """Keys that a sliding layer reads."""
    return window_size(config, default, "sliding_window_size")


def rotation_of(config: Config, head_dim: int, kind: str, *, length: int) -> dict[str, Any]:
    """`rotation` of a layer kind: nested `rope_parameters`, or the older keys, of which rope_local_base_freq holds for
    sliding layers and rope_theta and rope_scaling for full ones. `length` is the class default of the longest sequence.
    """
    nested = config.data.get("rope_parameters")
    if isinstance(nested, dict) and (FULL in nested or SLIDING in nested):
        key, theta = ("rope_theta", GLOBAL_THETA) if kind == FULL else ("rope_local_base_freq", LOCAL_THETA)
        rotation = rotary(config, head_dim, theta=theta, layer_kind=kind, length=length)
        if config.number(key, default=rotation["theta"]) != rotation["theta"]:
            raise config.error(key, f"`{key}` contradicts `rope_parameters.{kind}.rope_theta`; keep one of them.")
        return rotation
    if kind == FULL:
        return rotary(config, head_dim, theta=GLOBAL_THETA, length=length)
    theta = config.number("rope_local_base_freq", default=LOCAL_THETA)
    return {"source": "constant", "theta": theta, "fraction": 1.0, "pairing": "half"}


def query_scale(config: Config, *, default: int) -> float:
    """query_pre_attn_scalar to the power -1/2, in place of head_dim^-1/2."""
    scalar = config.number("query_pre_attn_scalar", default=default)
    if scalar <= 0:
        raise config.error("query_pre_attn_scalar", f"`query_pre_attn_scalar` must be positive, got {scalar:g}.")
    return float(scalar**-0.5)


def softcap(config: Config, *, default: float | None) -> float | None:
    """attn_logit_softcapping; null in the file is no cap."""
    key = "attn_logit_softcapping"
    if config.is_null(key) or (default is None and not config.has(key)):
        return None
    return config.number(key, default=default)


def shared_keys(config: Config, num_layers: int, *, default: int) -> int:
    """Number of last layers that read the keys and values of an earlier layer of their kind."""
    shared = config.integer("num_kv_shared_layers", default=default, least=0)
    if shared > num_layers:
        raise config.error(
            "num_kv_shared_layers", f"`num_kv_shared_layers: {shared}` is more than the {num_layers} layers."
        )
    if shared:
        config.approximate(
            "num_kv_shared_layers",
            f"the last {shared} layers read keys and values of an earlier layer of their kind; here each has its own,"
            " so the cache is counted too large",
        )
    return shared


def bidirectional(mixers: Sequence[MixerSpec]) -> list[AnyMixer]:
    """Each mixer as `use_bidirectional_attention` makes it; a window of w then reads w // 2 keys to either side."""
    return [both_ways(_halved(mixer), reason=BOTH_WAYS) for mixer in mixers]


def _halved(mixer: MixerSpec) -> MixerSpec:
    span = mixer.support.window
    support = mixer.support.model_copy(update={"window": None if span is None else span // 2 + 1})
    return mixer.model_copy(update={"support": support})
