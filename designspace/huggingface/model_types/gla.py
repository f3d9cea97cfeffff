"""gla: gated linear attention, one decay per key channel. Source: arXiv 2312.06635; fla-core 0.6.0, layers/gla.py.

`hidden_act` is also the output gate. The gate's logit is divided by 16 in code; keys, values and decay are shared by
the heads of a group.
"""

import math
from typing import Any

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue

FEATURE_MAPS = {"relu": "relu", "silu": "silu", "swish": "silu"}
NORMALIZER = 16


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    conv = fla.short_conv(config, "q", "k", "v", default=False)
    fla.fixed(config, "use_gk", value=True, why="every key channel has a gate")
    fla.fixed(config, "use_gv", value=False, why="values have no gate")
    fla.fixed(config, "gate_logit_normalizer", NORMALIZER, f"the logit of the gate is divided by {NORMALIZER}")
    mixer = from_catalogue(
        "gla",
        heads=fla.grouped_keys(config, hidden, expand_k=0.5, expand_v=1.0),
        features={"map": feature_map(config, is_convolved=conv["width"] > 0)},
        decay=_floor(config),
        io={
            "short_conv": conv,
            "value_activation": "silu" if conv["width"] else "none",
            "gate": gate(config),
            "norm_eps": fla.norm_eps(config),
        },
    )
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


def feature_map(config: Config, *, is_convolved: bool) -> str:
    """`features.map` of q and k: `feature_map` is an activation; the short convolution ends with a SiLU."""
    if config.optional("feature_map") is None:
        return "silu" if is_convolved else "identity"
    name = config.text("feature_map", default="identity")
    if name not in FEATURE_MAPS or is_convolved:
        raise config.error(
            "feature_map", f"`feature_map: {name!r}` is not supported; known without a short convolution: relu, swish."
        )
    return FEATURE_MAPS[name]


def gate(config: Config) -> str:
    """The output gate, whose activation is `hidden_act`."""
    if config.flag("use_output_gate", default=True):
        return fla.output_gate(config, "hidden_act", default="swish")
    return "none"


def _floor(config: Config) -> dict[str, Any]:
    """`decay` with the lower bound of log a, `clamp_min`."""
    if not config.has("clamp_min"):
        config.optional("clamp_min")
        return {}
    bound = config.number("clamp_min")
    if bound >= 0:
        raise config.error(
            "clamp_min", f"`clamp_min` bounds the log of the decay from below: give a negative, got {bound:g}."
        )
    low = math.exp(bound)
    first = [max(low, end) for end in from_catalogue("gla").decay.initial or (0.0, 1.0)]
    return {"range": [low, 1.0], "initial": first}


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
