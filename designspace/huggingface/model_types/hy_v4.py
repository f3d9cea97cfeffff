"""hy_v4: latent attention with an output gate and learned sinks, over the `index_topk` keys that an indexer picks.

Source: transformers 5.24, configuration_hy_v4 and modeling_hy_v4: halves rotate together, keys of 192 + 64 and values
of 256, sigmoid(gate_proj(x)) on the output, one logit per head in the denominator. Hyper-connections stand around the
sub-layers.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, INDEXER, Latent, indexed, latent_mixer, latent_stack
from designspace.huggingface.parts import Defaults, layer_types

DEFAULTS = Defaults(hidden=2816, layers=34, heads=32, inner=6912, vocab=120832, length=262144)
LATENT = Latent(nope=192, value=256)
TOPK = 2048


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    layer_types(config, num_layers, known=("indexed_attention",))
    config.note("sink, output gate", "in code: one learned logit per head joins the denominator; sigmoid gate")
    dense = latent_mixer(
        config,
        hidden,
        DEFAULTS,
        LATENT,
        pairing="half",
        normalization={"kind": "sum_with_sink"},
        io={"gate": "sigmoid"},
    )
    return latent_stack(config, [indexed(config, dense, topk=TOPK)] * num_layers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **INDEXER,
        **dict.fromkeys(
            ("hc_eps", "hc_magnitude", "hc_mult"),
            "of the hyper-connections around the sub-layers, which the candidate does not have",
        ),
        "learnable_sink_init": "initialisation of weights a checkpoint replaces",
        "swiglu_limit": "of the channel mixer",
    },
)
