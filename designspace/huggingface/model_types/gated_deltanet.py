"""gated_deltanet: scalar decay times the delta rule. Source: arXiv 2412.06464; fla-core 0.6.0, gated_deltanet.py.

`head_dim` is the width of a key, values are `expand_v` times as wide; the heads need not fill the hidden size.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue
from designspace.mixer import MixerSpec

LAYERS = 21


def _stack(config: Config) -> Stack:
    return fla.stack(config, [mixer(config)] * fla.depth(config, LAYERS), hidden=fla.hidden_size(config))


def mixer(config: Config) -> MixerSpec:
    """The mixer of a layer without softmax."""
    activation = fla.output_gate(config, "output_gate_activation", default="swish")
    fla.fixed(config, "use_mamba_gate", value=True, why="the decay is always that of Mamba")
    return from_catalogue(
        "gated_deltanet",
        heads=fla.grouped_values(config, heads=6, state_dim=256, expand_v=2.0),
        erase={"gain": fla.erase_gain(config)},
        io={
            "short_conv": fla.short_conv(config, "q", "k", "v", default=True),
            "gate": activation if config.flag("use_gate", default=True) else "none",
            "norm_eps": fla.norm_eps(config),
        },
    )


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
