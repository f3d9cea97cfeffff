"""gemma2: softcapped scores scaled by query_pre_attn_scalar^-1/2; sliding and full layers in turn, the first sliding.

Source: arXiv 2408.00118; transformers 5.24, modeling_gemma2. Norms after the sub-layers stand beside those before.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.gemma import FULL, IGNORES, bidirectional, layer_kinds, query_scale, softcap, window
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, rope

DEFAULTS = Defaults(hidden=2304, layers=26, heads=8, kv_heads=4, head_dim=256, inner=9216, vocab=256000, length=8192)
INTERVAL = 2
WINDOW = 4096
SCALAR = 256
SOFTCAP = 50.0


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    scale, cap, span = (
        query_scale(config, default=SCALAR),
        softcap(config, default=SOFTCAP),
        window(config, default=WINDOW),
    )
    mixers = [
        from_catalogue(
            "softmax_softcap",
            heads=heads,
            rotation=rotation,
            scaling={"base": scale},
            readout={"softcap": cap},
            support={"window": None if kind == FULL else span},
        )
        for kind in layer_kinds(config, config.depth("num_hidden_layers", default=DEFAULTS.layers), interval=INTERVAL)
    ]
    config.note("norms", "in code: a second norm after each sub-layer, which leaves the tuple")
    if config.flag("use_bidirectional_attention", default=False):
        return decoder(config, bidirectional(mixers), hidden=hidden, defaults=DEFAULTS)
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores=IGNORES)
