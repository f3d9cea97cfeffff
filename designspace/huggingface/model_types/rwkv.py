"""rwkv: RWKV-4, channel-wise recurrence with exponential keys. Source: arXiv 2305.13048; transformers 5.24, rwkv."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, layer_block, mlp, model


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size")
    channels = config.integer("attention_hidden_size", default=hidden)
    mixer = from_catalogue("rwkv4", heads={"num_heads": channels, "kv_groups": None})
    channel = mlp(hidden, config.integer("intermediate_size", default=4 * hidden))
    layers = [layer_block(mixer, channel)] * config.depth("num_hidden_layers")
    return Stack(layers, model(config, hidden), config.integer("context_length", default=1024))


importer = Importer(
    _stack,
    ignores={
        "layer_norm_epsilon": "eps of the block norms",
        "rescale_every": "execution: half precision inference",
    },
)
