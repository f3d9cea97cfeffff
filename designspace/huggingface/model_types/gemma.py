"""gemma: llama with a head_dim of 256 that is independent of hidden size / heads.

Source: arXiv 2403.08295; transformers 5.24, modeling_gemma.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.gemma import bidirectional
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, rope

DEFAULTS = Defaults(hidden=3072, layers=28, heads=16, kv_heads=16, head_dim=256, inner=24576, vocab=256000, length=8192)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    mixer = from_catalogue("softmax_rope", heads=heads, rotation=rope(config, heads["state_dim"], DEFAULTS))
    mixers = [mixer] * config.depth("num_hidden_layers", default=DEFAULTS.layers)
    if config.flag("use_bidirectional_attention", default=False):
        return decoder(config, bidirectional(mixers), hidden=hidden, defaults=DEFAULTS)
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(
    _stack, ignores=dict.fromkeys(("num_image_tokens", "projection_dim"), "of the image model around it (PaliGemma)")
)
