"""solar_open: llama with experts of `moe_intermediate_size` and theta 1e6. Source: transformers 5.24, solar_open."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, gated_mlp, one_expert, rope, trunk

DEFAULTS = Defaults(
    hidden=4096,
    layers=48,
    heads=64,
    kv_heads=8,
    head_dim=128,
    inner=1280,
    vocab=196608,
    length=131072,
    theta=1000000.0,
)


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    one_expert(config)
    mixer = attention("softmax_rope", heads, rope(config, heads["state_dim"], DEFAULTS))
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS, channel=channel)


importer = Importer(_stack, ignores={"intermediate_size": "of dense layers, which the model code does not have"})
