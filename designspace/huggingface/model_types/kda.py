"""kda: Kimi Delta Attention. Source: arXiv 2510.26692; fla-core 0.6.0, layers/kda.py and ops/kda/gate.py.

With `safe_gate` the log of the decay is lower_bound * sigmoid(exp(A) (x + bias)), A = 0 at the start; else it is
-exp(A) softplus(x + bias). The sigmoid output gate is in code.
"""

import math
from typing import Any

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue
from designspace.mixer import MixerSpec

STEP = (0.001, 0.1)  # softplus of the bias at the start
LEAST_BOUND = -5.0  # of the log of the decay, a limit of the kernel


def _stack(config: Config) -> Stack:
    config.note("output gate", "in code: sigmoid, through a low-rank map")
    return fla.stack(config, [mixer(config)] * fla.depth(config), hidden=fla.hidden_size(config))


def mixer(config: Config) -> MixerSpec:
    """The mixer of a layer without softmax."""
    return from_catalogue(
        "kda",
        heads=fla.grouped_values(config, heads=16, state_dim=128, expand_v=1.0),
        decay=_decay(config),
        erase={"gain": fla.erase_gain(config)},
        io={"short_conv": fla.short_conv(config, "q", "k", "v", default=True), "norm_eps": fla.norm_eps(config)},
    )


def _decay(config: Config) -> dict[str, Any]:
    is_safe = config.flag("safe_gate", default=False)
    if is_safe != config.has("lower_bound"):
        raise config.error("lower_bound", "`lower_bound` and `safe_gate: true` go together; give both or neither.")
    if not is_safe:
        config.optional("lower_bound")
        return {}
    bound = config.number("lower_bound")
    if not LEAST_BOUND <= bound < 0:
        raise config.error("lower_bound", f"`lower_bound` must lie in [{LEAST_BOUND:g}, 0), got {bound:g}.")
    first = [math.exp(bound * -math.expm1(-step)) for step in reversed(STEP)]
    return {"map": "exp_lb_sigmoid", "range": [math.exp(bound), 1.0], "initial": first}


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
