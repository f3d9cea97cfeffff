"""gemma3_text: five sliding layers, then a full one; q/k norm; theta 10000 in sliding layers, a million in full ones.

Source: arXiv 2503.19786; transformers 5.24, modeling_gemma3. EmbeddingGemma is this with `use_bidirectional_attention`.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.gemma import (
    FULL,
    IGNORES,
    bidirectional,
    layer_kinds,
    query_scale,
    rotation_of,
    softcap,
    window,
)
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue

DEFAULTS = Defaults(hidden=2304, layers=26, heads=8, kv_heads=4, head_dim=256, inner=9216, vocab=262208, length=131072)
INTERVAL = 6
WINDOW = 4096
SCALAR = 256


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    scale, cap, span = (
        query_scale(config, default=SCALAR),
        softcap(config, default=None),
        window(config, default=WINDOW),
    )
    kinds = layer_kinds(config, config.depth("num_hidden_layers", default=DEFAULTS.layers), interval=INTERVAL)
    by_kind = {
        kind: from_catalogue(
            "softmax_qknorm",
            heads=heads,
            rotation=rotation_of(config, heads["state_dim"], kind, length=DEFAULTS.length),
            scaling={"base": scale},
            readout={"softcap": cap},
            support={"window": None if kind == FULL else span},
        )
        for kind in sorted(set(kinds))
    }
    mixers = [by_kind[kind] for kind in kinds]
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    if config.flag("use_bidirectional_attention", default=False):
        return decoder(config, bidirectional(mixers), hidden=hidden, defaults=DEFAULTS)
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "rope_local_base_freq": "no sliding layer, or rope_parameters says it",
        "rope_theta": "no full layer, or rope_parameters says it",
    },
)
