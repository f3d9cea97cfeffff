"""gemma4_text: RMS on q, k and v and no score scale; full layers have wider heads and their own rotation.

Source: transformers 5.24, configuration_gemma4 and modeling_gemma4. The width of the heads of full layers stands in
`per_layer_config` or, in older files, in global_head_dim (and num_global_key_value_heads under attention_k_eq_v); the
last layer is always full.
"""

from typing import Any

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.gemma import (
    FULL,
    GLOBAL_THETA,
    IGNORES,
    LOCAL_THETA,
    bidirectional,
    layer_kinds,
    shared_keys,
    window,
)
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, from_catalogue, layer, model
from designspace.huggingface.rope import rotary
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=2304, layers=30, heads=8, kv_heads=4, head_dim=256, inner=9216, vocab=262144, length=131072)
INTERVAL = 6
WINDOW = 512
GLOBAL_HEAD_DIM = 512
GLOBAL_FRACTION = 0.25
OVERRIDES = {"head_dim", "num_key_value_heads"}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    kinds = [*layer_kinds(config, num_layers, interval=INTERVAL)[:-1], FULL]
    heads = attention_sizes(config, hidden, DEFAULTS)
    span = window(config, default=WINDOW)
    mixers = [
        _mixer(config, kind, heads | overrides, span)
        for kind, overrides in zip(kinds, _overrides(config, kinds), strict=True)
    ]
    config.note("q/k norm", "in code: weighted RMS per head before the rotation, scores not divided")
    config.note("v norm", "in code: unweighted RMS of each value, which the grammar does not hold")
    shared = shared_keys(config, num_layers, default=0)
    wide = 2 if config.flag("use_double_wide_mlp", default=False) else 1
    inner = config.integer("intermediate_size", default=DEFAULTS.inner)
    factors = [1] * (num_layers - shared) + [wide] * shared
    channels = [ChannelMixer(kind="swiglu", ratio=inner * factor / hidden) for factor in factors]
    placed = bidirectional(mixers) if _reads_bidirectional(config) else mixers
    layers = [layer(mixer, channel) for mixer, channel in zip(placed, channels, strict=True)]
    around = model(config, hidden, vocab=DEFAULTS.vocab)
    return Stack(layers, around, config.integer("max_position_embeddings", default=DEFAULTS.length))


def _mixer(config: Config, kind: str, heads: dict[str, Any], span: int | None) -> MixerSpec:
    return from_catalogue(
        "softmax_qknorm",
        heads=heads,
        rotation=_rotation(config, heads["state_dim"], kind),
        scaling={"base": 1.0},
        support={"window": None if kind == FULL else span},
    )


def _rotation(config: Config, head_dim: int, kind: str) -> dict[str, Any]:
    theta = GLOBAL_THETA if kind == FULL else LOCAL_THETA
    if config.has("rope_parameters"):
        return rotary(config, head_dim, theta=theta, layer_kind=kind)
    config.note("rope_parameters", "the default of transformers 5.24: proportional on a quarter in full layers")
    rotation = {"source": "constant", "theta": theta, "fraction": 1.0, "pairing": "half"}
    return rotation | ({"fraction": GLOBAL_FRACTION, "scaling": {"kind": "proportional"}} if kind == FULL else {})


def _overrides(config: Config, kinds: list[str]) -> list[dict[str, Any]]:
    """What differs from the common `heads` in each layer."""
    same_kv = config.flag("attention_k_eq_v", default=False)
    if same_kv:
        config.approximate("attention_k_eq_v", "values of full layers have a projection of their own here")
    if not config.has("per_layer_config"):
        full = _widths(config.integer("global_head_dim", default=GLOBAL_HEAD_DIM))
        if same_kv and config.has("num_global_key_value_heads"):
            full |= {"kv_groups": config.integer("num_global_key_value_heads")}
        return [full if kind == FULL else {} for kind in kinds]
    per_layer = config.nested("per_layer_config")
    found: list[dict[str, Any]] = [{} for _ in kinds]
    for index in per_layer.data:
        if not index.isdecimal() or int(index) >= len(kinds):
            raise per_layer.error(index, f"`per_layer_config` names layer {index!r}, the model has {len(kinds)}.")
        found[int(index)] = _override(per_layer.nested(index))
    return found


def _override(one: Config) -> dict[str, Any]:
    if unknown := set(one.data) - OVERRIDES:
        key = min(unknown)
        raise one.error(key, f"`{key}` of one layer is not understood; known: {', '.join(sorted(OVERRIDES))}.")
    heads = _widths(one.integer("head_dim")) if one.has("head_dim") else {}
    return heads | ({"kv_groups": one.integer("num_key_value_heads")} if one.has("num_key_value_heads") else {})


def _widths(head_dim: int) -> dict[str, Any]:
    return {"state_dim": head_dim, "head_dim": head_dim}


def _reads_bidirectional(config: Config) -> bool:
    """Only "all" makes text bidirectional; "vision" does so for the tokens of an image."""
    kind = config.optional("use_bidirectional_attention")
    if kind not in (None, "vision", "all"):
        raise config.error(
            "use_bidirectional_attention", f"`use_bidirectional_attention` must be null, vision or all, got {kind!r}."
        )
    if kind == "vision":
        config.note("use_bidirectional_attention", "tokens of an image read each other; text is causal")
    return bool(kind == "all")


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "enable_moe_block": "of the channel mixer",
        "expert_intermediate_size": "of the channel mixer",
        "global_head_dim": "per_layer_config says it",
        "hidden_size_per_layer_input": "of the embedding per layer, outside the mixer",
        "num_global_key_value_heads": "read with attention_k_eq_v only, or per_layer_config says it",
        "top_k_experts": "routing of the channel mixer",
        "vocab_size_per_layer_input": "of the embedding per layer, outside the mixer",
    },
)
