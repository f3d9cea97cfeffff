"""rwkv5: RWKV-5 Eagle of the hub. Source: arXiv 2404.05892; modeling_rwkv5.py of RWKV/rwkv-5-world-1b5.

Heads are attention_hidden_size / head_size; `num_attention_heads` of these files is a width too, and is not read. The
output is divided by `head_size_divisor` before the norm per head, so its eps counts times the square of that.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, layer, mlp, model, sizes

DEFAULTS = Defaults(hidden=768, layers=24, heads=12, inner=2688, vocab=65536, length=4096)
HEAD_SIZE, HEAD_SIZE_DIVISOR = 64, 8
NORM_EPS = 1e-5  # of the norm per head, in code
IGNORES = {
    "model_version": "the model_type says it",
    "num_attention_heads": "not read by the model code: the number of heads is attention_hidden_size / head_size",
    "rescale_every": "execution: halves the weights of deep layers against half-precision overflow",
}


def _stack(config: Config) -> Stack:
    return matrix_stack(config, "rwkv5")


def matrix_stack(config: Config, name: str) -> Stack:
    """RWKV with matrix states, from the keys of the hub; `name` is the catalogue entry."""
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    width = config.integer("head_size", default=HEAD_SIZE)
    channels = config.integer("attention_hidden_size", default=hidden)
    if channels % width:
        raise config.error("head_size", f"`head_size` must divide the {channels} channels, got {width}.")
    divisor = config.integer("head_size_divisor", default=HEAD_SIZE_DIVISOR)
    mixer = from_catalogue(
        name,
        heads=sizes(channels // width, channels // width, width),
        io={"short_conv": {"width": 2, "on": ["v"]}, "norm_eps": NORM_EPS * divisor**2},
    )
    config.note("heads", f"attention_hidden_size / head_size = {channels // width}")
    config.note("token shift", "in code: q, k and v share one shift of their input; a convolution of v stands for it")
    inner = config.integer("intermediate_size", default=max(7 * hidden // 2 // 32 * 32, 1), because="3.5 * hidden size")
    layers = [layer(mixer, mlp(hidden, inner), norm="layer")] * config.depth(
        "num_hidden_layers", default=DEFAULTS.layers
    )
    seq_len = config.integer("context_length", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


importer = Importer(_stack, ignores=IGNORES, source="configuration_rwkv5.py of RWKV/rwkv-5-world-1b5")
