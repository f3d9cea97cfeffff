"""mom: mixture of memories. Source: arXiv 2502.13685; fla-core 0.6.0, layers/mom.py.

Not in the grammar: a router sends each token to a few of several states. Nearest is one state, Gated DeltaNet.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import from_catalogue
from designspace.outside import Outside

BACKEND = "gated_deltanet"
REASON = (
    "A router writes and reads {count} of {all} states at each token, so the support of a query is chosen by top-k."
)


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    if (backend := config.text("mom_backend", default=BACKEND)) != BACKEND:
        raise unsupported(config, "mom_backend", backend)
    reason = REASON.format(count=config.integer("topk", default=2), all=config.integer("num_memories", default=4))
    nearest = from_catalogue(
        "gated_deltanet",
        heads=fla.grouped_values(config, heads=4, state_dim=256, expand_v=1.0),
        io={
            "short_conv": fla.short_conv(config, "q", "k", "v", default=True),
            "gate": "silu" if config.flag("use_output_gate", default=True) else "none",
        },
    )
    mixer = Outside(outside="sparse_support", reason=reason, nearest=nearest)
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


importer = Importer(
    _stack,
    ignores={
        **fla.IGNORES,
        "aux_loss_scale": "training loss",
        "capacity": "of the mixer outside the grammar",
        "shared_mem": "of the mixer outside the grammar",
        "single_kv_proj": "of the mixer outside the grammar",
        "use_layer_wise_balance": "training loss",
    },
    source=fla.SOURCE,
)
