"""olmo_hybrid: three Gated DeltaNet layers, then one softmax layer. Source: transformers 5.24, modeling_olmo_hybrid.

Keys and values of the linear layers have 3/4 and 3/2 of the hidden size / heads; `linear_allow_neg_eigval` doubles
beta. The softmax layers have one RMS over all heads on q and on k, and norms on the outputs of the sub-layers; keys do
not rotate where `rope_parameters`, or the theta in it, is null.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import DeltaDefaults, gated_delta, schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    decoder,
    every,
    from_catalogue,
    norms_on_outputs,
    rope,
    trunk,
)
from designspace.huggingface.rope import nope
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=3840, layers=32, heads=30, inner=11008, vocab=100352, length=65536)
INTERVAL = 4


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    attention = _attention(config, heads)
    negative = config.flag("linear_allow_neg_eigval", default=True)
    delta = gated_delta(config, _delta_defaults(config, hidden, heads["num_heads"]), negative=negative)
    kinds = schedule(config, num_layers)
    if kinds is None:
        kinds = ["full" if full else "linear" for full in every(INTERVAL, num_layers)]
        if "full" not in kinds:
            kinds[-1] = "full"
    return decoder(config, [attention if kind == "full" else delta for kind in kinds], hidden=hidden, defaults=DEFAULTS)


def _attention(config: Config, heads: dict[str, Any]) -> MixerSpec:
    rotation = nope() if _is_unrotated(config) else rope(config, heads["state_dim"], DEFAULTS)
    norms_on_outputs(config)
    config.note("q/k norm", "in code: weighted RMS over all heads before the rotation")
    return from_catalogue("softmax_qknorm", heads=heads, rotation=rotation, features={"norm_over": "all_heads"})


def _is_unrotated(config: Config) -> bool:
    """`rope_parameters` is null, or the `rope_theta` in it is: the converter writes either for a model without."""
    parameters = config.nested("rope_parameters")
    if parameters.data:
        is_null = "rope_theta" in parameters.data and not parameters.has("rope_theta")
    else:
        is_null = "rope_parameters" in config.data and not (config.has("rope_theta") or config.has("rope_scaling"))
    if is_null:
        for where, key in ((config, "rope_theta"), (parameters, "rope_theta"), (parameters, "rope_type")):
            where.optional(key)
        config.note("position", "the rotary parameters are null: no rotation")
    return is_null


def _delta_defaults(config: Config, hidden: int, num_heads: int) -> DeltaDefaults:
    key_heads = config.integer("linear_num_key_heads", default=num_heads)
    key_dim = config.integer("linear_key_head_dim", default=max(3 * hidden // (4 * key_heads), 1))
    return DeltaDefaults(key_heads=key_heads, value_heads=num_heads, key_dim=key_dim, value_dim=2 * key_dim)


importer = Importer(
    _stack,
    ignores=dict.fromkeys(
        ("linear_a_log_min", "linear_a_log_max", "linear_dt_min", "linear_dt_max", "linear_dt_init_floor"),
        "initialisation of weights a checkpoint replaces",
    ),
)
