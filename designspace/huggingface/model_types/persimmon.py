"""persimmon: half of the channels rotate; layer norm per head on q and k unless `qk_layernorm` is false.

Source: transformers 5.24, modeling_persimmon: q, k, v in one projection, one key per query.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, head_dim, mlp, rope, sizes

DEFAULTS = Defaults(hidden=4096, layers=36, heads=64, inner=16384, vocab=262144, length=16384)
NORM = {"norm": "layernorm", "eps_kind": "mean"}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_heads = config.integer("num_attention_heads", default=DEFAULTS.heads)
    width = head_dim(config, hidden, num_heads)
    features: dict[str, Any] = NORM if config.flag("qk_layernorm", default=True) else {}
    mixer = attention(
        "softmax_partial_rope",
        sizes(num_heads, num_heads, width),
        rope(config, width, DEFAULTS, fraction=0.5),
        features=features,
    )
    channel = mlp(hidden, config.integer("intermediate_size", default=DEFAULTS.inner))
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS, channel=channel, norm="layer")


importer = Importer(_stack, ignores={"num_key_value_heads": "not read by the model code: one key per query"})
