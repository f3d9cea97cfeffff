"""delta_net: DeltaNet. Source: arXiv 2406.06484; fla-core 0.6.0, layers/delta_net.py.

Values always pass a SiLU and the output is always normed per head; without `use_beta` every step erases fully.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, sizes

ACTIVATIONS = {"silu": "silu", "relu": "relu", "elu": "elu+1", "identity": "identity"}
NORMS = ("l2", "sum")


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    num_heads = config.integer("num_heads", default=16)
    widths = [
        fla.per_head(config, fla.expanded(config, key, size=hidden, default=1.0), num_heads)
        for key in ("expand_k", "expand_v")
    ]
    fla.fixed(config, "use_elu", value=False, why="qk_activation says what q and k pass")
    fla.fixed(config, "use_output_norm", value=True, why="the output is always normed")
    mixer = from_catalogue(
        "deltanet",
        heads=sizes(num_heads, num_heads, *widths),
        features={"map": _activation(config), "norm": _norm(config)},
        erase={"gain": _gain(config)},
        io={
            "short_conv": fla.short_conv(config, "q", "k", "v", default=True),
            "gate": "silu" if config.flag("use_gate", default=False) else "none",
            "norm_eps": fla.norm_eps(config),
        },
    )
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


def _activation(config: Config) -> str:
    name = config.text("qk_activation", default="silu")
    if name not in ACTIVATIONS:
        raise config.error("qk_activation", f"`qk_activation: {name}` is not known; known: {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


def _norm(config: Config) -> str:
    name = config.text("qk_norm", default="l2")
    if name not in NORMS:
        raise config.error("qk_norm", f"`qk_norm: {name}` is not known; known: {', '.join(NORMS)}.")
    return name


def _gain(config: Config) -> tuple[float, float]:
    low, high = fla.erase_gain(config)
    return (low, high) if config.flag("use_beta", default=True) else (high, high)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
