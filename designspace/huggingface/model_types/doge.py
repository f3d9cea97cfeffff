"""doge: softmax attention with q/k norm whose queries keep the `keep_window_size` keys of largest learned bias.

Source: transformers 5.24, modeling_doge (prepare_dynamic_mask): the bias exp(A softplus(dt)) of a key is added to the
score, and beyond keep_window_size keys those of smaller bias are masked. The dense part stands as the nearest mixer.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, rope
from designspace.outside import Outside

DEFAULTS = Defaults(hidden=1024, layers=32, heads=8, inner=2048, vocab=32768, length=2048)
KEPT = 2048


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    kept = config.integer("keep_window_size", default=KEPT)
    window = config.integer("sliding_window") if config.has("sliding_window") else None
    dense = from_catalogue(
        "softmax_qknorm",
        heads=heads,
        rotation=rope(config, heads["state_dim"], DEFAULTS),
        support={"window": window},
    )
    mixer = Outside(
        outside="sparse_support",
        reason=f"beyond keep_window_size = {kept} keys a query reads those of largest bias, which the values give.",
        nearest=dense,
    )
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    mixers = [mixer] * config.depth("num_hidden_layers", default=DEFAULTS.layers)
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(
    _stack,
    ignores={
        "dynamic_mask_ratio": "not read by the model code",
        "expert_retrieval_size": "of the channel mixer",
        "is_moe": "of the channel mixer",
        "num_cdmoe_experts": "of the channel mixer",
        "num_cdmoe_experts_per_head": "of the channel mixer",
        "num_cdmoe_heads": "of the channel mixer",
        "sliding_window": "null: no window",
    },
)
