"""mesa_net: the least-squares memory. Source: arXiv 2506.05233; fla-core 0.6.0, layers/mesa_net.py.

Not in the grammar: each query is multiplied by the inverse of the keys' covariance, found by conjugate gradients.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, sizes
from designspace.outside import Outside

REASON = (
    "The query is multiplied by the inverse of the sum of k k^T over all keys ({steps} steps of conjugate gradients),"
    " so it depends on the whole prefix."
)


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    num_heads, width = config.integer("num_heads", default=16), config.integer("head_dim", default=128)
    nearest = from_catalogue(
        "simple_gla",
        heads=sizes(num_heads, num_heads, width),
        features={"norm": "l2"},
        io={
            "short_conv": {"width": config.integer("conv_size", default=4), "on": ["q", "k"]},
            "value_activation": "none",
            "gate": "silu" if config.flag("use_output_gate", default=False) else "none",
        },
    )
    reason = REASON.format(steps=config.integer("max_cg_step_training", default=30))
    mixer = Outside(outside="history_dependent", reason=reason, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


importer = Importer(
    _stack,
    ignores={
        **fla.IGNORES,
        "lambda_lower_bound": "of the mixer outside the grammar",
        "max_cg_step_decoding": "of the mixer outside the grammar",
        "use_short_conv": "not read by the forward pass, which always convolves q and k",
    },
    source=fla.SOURCE,
)
