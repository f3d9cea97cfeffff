"""mimo_v2_flash: keys of 192 and values of 128; layer 0 and every sixth full, the others with a window and a sink.

Source: transformers 5.24, configuration_mimo_v2_flash and modeling_mimo_v2_flash. Sliding layers have twice the
key/value heads; the window is sliding_window_size + 1 where that key stands. Files on the hub say hybrid_layer_pattern
(1 = sliding), swa_* and add_*_sink_bias, which their own modeling code reads.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, decoder, from_catalogue, layer_types, sizes
from designspace.huggingface.rope import rotary
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(
    hidden=4096, layers=48, heads=64, kv_heads=4, head_dim=192, inner=16384, vocab=152576, length=131072
)
VALUE_DIM = 128
WINDOW = 129
INTERVAL = 6
FRACTION = 0.334
THETAS = {"full_attention": 5_000_000.0, "sliding_attention": 10_000.0}
THETA_KEYS = {"full_attention": "rope_theta", "sliding_attention": "swa_rope_theta"}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    kinds = _kinds(config, config.depth("num_hidden_layers", default=DEFAULTS.layers))
    mixers = {"full_attention": _full(config), "sliding_attention": _sliding(config)}
    config.note("experts", "the channel mixer is that of the dense layers")
    return decoder(config, [mixers[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS)


def _kinds(config: Config, num_layers: int) -> list[str]:
    """layer_types, or hybrid_layer_pattern with 1 for a sliding layer."""
    types = layer_types(config, num_layers, known=tuple(THETAS))
    pattern = config.integers("hybrid_layer_pattern")
    if pattern is None:
        full = {0, *range(INTERVAL - 1, num_layers, INTERVAL)}
        return types or ["full_attention" if index in full else "sliding_attention" for index in range(num_layers)]
    if len(pattern) != num_layers or any(value not in (0, 1) for value in pattern):
        raise config.error("hybrid_layer_pattern", f"`hybrid_layer_pattern` must hold 0 or 1 for {num_layers} layers.")
    kinds = ["sliding_attention" if value else "full_attention" for value in pattern]
    if types not in (None, kinds):
        raise config.error("layer_types", "`layer_types` contradicts `hybrid_layer_pattern`; keep one.")
    return kinds


def _full(config: Config) -> MixerSpec:
    heads = sizes(
        config.integer("num_attention_heads", default=DEFAULTS.heads),
        config.integer("num_key_value_heads", default=DEFAULTS.kv_heads),
        config.integer("head_dim", default=DEFAULTS.head_dim),
        config.integer("v_head_dim", default=VALUE_DIM),
    )
    has_sink = config.flag("add_full_attention_sink_bias", default=False)
    return from_catalogue(
        "softmax_sink" if has_sink else "softmax_partial_rope",
        heads=heads,
        rotation=_rotation(config, heads["state_dim"], "full_attention"),
        support={"window": None},
    )


def _sliding(config: Config) -> MixerSpec:
    full = _full(config).heads
    heads = sizes(
        config.integer("swa_num_attention_heads", default=full.num_heads),
        config.integer("swa_num_key_value_heads", default=2 * full.groups),
        config.integer("swa_head_dim", default=full.state_dim),
        config.integer("swa_v_head_dim", default=full.head_dim),
    )
    has_sink = config.flag("add_swa_attention_sink_bias", default=True)
    config.note("sink", "in code: one learned logit per head joins the denominator, in sliding layers")
    return from_catalogue(
        "softmax_sink" if has_sink else "softmax_partial_rope",
        heads=heads,
        rotation=_rotation(config, heads["state_dim"], "sliding_attention"),
        support={"window": _window(config)},
    )


def _window(config: Config) -> int:
    """sliding_window_size counts the keys before the query's own, sliding_window all of them."""
    if not config.has("sliding_window_size"):
        return config.integer("sliding_window", default=WINDOW)
    before = config.integer("sliding_window_size")
    if config.integer("sliding_window", default=before + 1) not in (before, before + 1):
        raise config.error("sliding_window", "`sliding_window` contradicts `sliding_window_size`; keep one of them.")
    return before + 1


def _rotation(config: Config, head_dim: int, kind: str) -> dict[str, Any]:
    key = THETA_KEYS[kind]
    if not config.has("rope_parameters"):
        rotation = rotary(config, head_dim, theta=THETAS["full_attention"], fraction=FRACTION, length=DEFAULTS.length)
        return rotation | {"theta": config.number(key, default=THETAS[kind])}
    rotation = rotary(config, head_dim, theta=THETAS[kind], fraction=FRACTION, layer_kind=kind, length=DEFAULTS.length)
    if config.number(key, default=rotation["theta"]) != rotation["theta"]:
        raise config.error(key, f"`{key}` contradicts `rope_parameters.{kind}.rope_theta`; keep one of them.")
    return rotation


importer = Importer(
    _stack,
    ignores={
        "attention_chunk_size": "not read by the model code",
        "attention_projection_layout": "execution: the layout of the stored weights",
        "attention_value_scale": "scales the values: the output of the mixer, not its coefficients",
        "full_attention": "no layer of this kind",
        "hybrid_block_size": "not read by the model code",
        "mlp_layer_types": "routing of the channel mixer",
        "sliding_attention": "no layer of this kind",
        "use_qk_norm": "not read by the model code",
    },
)
