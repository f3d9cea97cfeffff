"""mamba3: Mamba-3 (SISO), no channel mixer. Source: arXiv 2603.15569; fla-core 0.6.0, layers/mamba3.py.

The norms of q and k, their biases, the trapezoidal rule and the gate are in code. `is_mimo` writes several values per
token, which the grammar does not hold.
"""

import math

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.model_types.log_linear_mamba2 import LAYERS, state_heads
from designspace.huggingface.parts import from_catalogue
from designspace.huggingface.selective import IGNORES, pure_stack, step_range

RATE = math.log(2.0)  # softplus(0), where the rate starts
FRACTIONS = (0.5, 1.0)


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    if config.flag("is_mimo", default=False):
        raise unsupported(config, "is_mimo", value=True)
    low, high = step_range(config)
    normed = config.flag("is_outproj_norm", default=False)
    mixer = from_catalogue(
        "mamba3_siso",
        heads=state_heads(config, hidden),
        decay={"initial": [math.exp(-RATE * high), math.exp(-RATE * low)]},
        rotation={"fraction": _fraction(config)},
        scaling={"initial": [low, high]},
        io={"output_norm": "head_rms" if normed else "none", "norm_eps": fla.norm_eps(config, 1e-5)},
    )
    config.note("biases of q and k", "in code: added after the norm; left out")
    return pure_stack(config, hidden, mixer, layers=LAYERS, vocab=fla.VOCAB)


def _fraction(config: Config) -> float:
    fraction = config.number("rope_fraction", default=0.5)
    if fraction not in FRACTIONS:
        raise config.error("rope_fraction", f"`rope_fraction` must be 0.5 or 1.0, got {fraction:g}.")
    return fraction


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **fla.IGNORES,
        "A_floor": "the rate stays above it: by default 1e-4, a decay of at most exp(-1e-4 dt)",
        "mimo_rank": "is_mimo is false",
    },
    source=fla.SOURCE,
)
