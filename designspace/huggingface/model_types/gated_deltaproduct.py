"""gated_deltaproduct: several delta steps per token. Source: arXiv 2502.10297; fla-core 0.6.0, gated_deltaproduct.py.

By the defaults of the configuration there is one step, no forget gate and beta in (0, 1).
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue

MAX_STEPS = 4  # of the grammar


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    steps = config.integer("num_householder", default=1)
    if steps > MAX_STEPS:
        raise config.error("num_householder", f"`num_householder` is at most {MAX_STEPS} in the grammar, got {steps}.")
    fla.fixed(config, "num_v_heads", None, "the model does not pass it to the layer")
    forgets = config.flag("use_forget_gate", default=False)
    mixer = from_catalogue(
        "gated_deltaproduct",
        heads=fla.grouped_values(config, heads=6, state_dim=256, expand_v=2.0),
        decay={} if forgets else {"granularity": "none", "initial": None},
        erase={"rank": steps, "gain": fla.erase_gain(config)},
        io={
            "short_conv": fla.short_conv(config, "q", "k", "v", default=True),
            "gate": "silu" if config.flag("use_output_gate", "use_gate", default=True) else "none",
            "norm_eps": fla.norm_eps(config),
        },
    )
    return fla.stack(config, [mixer] * fla.depth(config, 21), hidden=hidden)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
