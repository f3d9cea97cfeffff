"""comba: closed-loop delta rule. Source: arXiv 2506.02475; fla-core 0.6.0, layers/comba.py.

The model does not pass use_output_correction, use_inner_decay and correction_factor to the layer, which has both on.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    fla.fixed(config, "use_inner_decay", value=True, why="the model does not pass it to the layer")
    fla.fixed(config, "use_output_correction", value=True, why="the model does not pass it to the layer")
    config.approximate("use_output_correction", "q - D p before the norm of q; here q")
    mixer = from_catalogue(
        "comba",
        heads=fla.grouped_values(config, heads=6, state_dim=256, expand_v=2.0),
        io={
            "short_conv": fla.short_conv(config, "q", "k", "v", default=True),
            "gate": "sigmoid" if config.flag("use_output_gate", default=True) else "none",
            "norm_eps": fla.norm_eps(config),
        },
    )
    return fla.stack(config, [mixer] * fla.depth(config, 21), hidden=hidden)


importer = Importer(
    _stack,
    ignores={**fla.IGNORES, "correction_factor": "initial value of the output correction, which is left out"},
    source=fla.SOURCE,
)
