"""exaone: llama under older names (num_layers). Source: transformers 5.24, exaone (the model is that of llama)."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, rope, trunk

DEFAULTS = Defaults(
    hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=102400, length=4096, theta=500000.0
)


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS, "num_hidden_layers", "num_layers")
    mixer = attention("softmax_rope", heads, rope(config, heads["state_dim"], DEFAULTS))
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores={})
