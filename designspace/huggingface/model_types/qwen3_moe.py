"""qwen3_moe: qwen3 with experts; a window on every layer if `use_sliding_window`.

Source: transformers 5.24, modeling_qwen3_moe, which does not read max_window_layers.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.qwen3 import always_normed
from designspace.huggingface.parts import ONE_WINDOW, Defaults, attention, decoder, one_expert, rope, trunk, window_size

DEFAULTS = Defaults(hidden=2048, layers=24, heads=32, kv_heads=4, inner=6144, vocab=151936, length=32768)
WINDOW = 4096  # keys


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    always_normed(config)
    one_expert(config)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    span = window_size(config, WINDOW) if config.flag("use_sliding_window", default=False) else None
    config.optional("sliding_window")
    mixer = attention("softmax_qknorm", heads, rotation, span)
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores=ONE_WINDOW)
