"""lfm2_moe: lfm2 with experts behind the first layers. Source: arXiv 2511.23404; transformers 5.24, lfm2_moe."""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.lfm2 import (
    IGNORES,
    TAPS,
    WORDS,
    normed_attention,
    short_convolution,
    width_of_stream,
)
from designspace.huggingface.parts import Defaults, decoder, gated_mlp, one_expert

DEFAULTS = Defaults(
    hidden=2048, layers=32, heads=32, kv_heads=8, inner=1792, vocab=65536, length=128_000, theta=1_000_000.0
)


def _stack(config: Config) -> Stack:
    hidden = width_of_stream(config, DEFAULTS)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    mixers = {"conv": short_convolution(config, hidden, TAPS), "full": normed_attention(config, hidden, DEFAULTS)}
    kinds = schedule(config, num_layers, known=WORDS)
    if kinds is None:
        raise config.error("layer_types", "`layer_types` is missing; the model class has no default for it.")
    one_expert(config)
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    return decoder(config, [mixers[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **dict.fromkeys(
            ("block_auto_adjust_ff_dim", "block_ff_dim", "block_ffn_dim_multiplier", "block_multiple_of"),
            "of the channel mixers, not read for this model type",
        ),
        "intermediate_size": "of the dense channel mixers of the first layers",
        "num_dense_layers": "which channel mixers have experts",
        "use_expert_bias": "routing of the channel mixer",
    },
)
