"""rwkv: RWKV-4, channel-wise recurrence with exponential keys. Source: arXiv 2305.13048; transformers 5.24, rwkv."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model

DEFAULTS = Defaults(hidden=4096, layers=32, heads=1, inner=16384, vocab=50277, length=1024)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    channels = config.integer("attention_hidden_size", default=hidden)
    mixer = from_catalogue("rwkv4", heads={"num_heads": channels, "kv_groups": None})
    config.note("token shift", "in code: mixes each token with the one before; a convolution of width 2")
    channel = mlp(hidden, config.integer("intermediate_size", default=4 * hidden))
    layers = [layer(mixer, channel, norm="layer")] * config.depth("num_hidden_layers", default=DEFAULTS.layers)
    seq_len = config.integer("context_length", "max_position_embeddings", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


importer = Importer(
    _stack, ignores={"rescale_every": "execution: halves the weights of deep layers against half-precision overflow"}
)
