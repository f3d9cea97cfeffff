"""qwen2_moe: qwen2 with experts; a window only if `use_sliding_window`, on even layers below `max_window_layers`.

Source: transformers 5.24, configuration_qwen2_moe (its rule is not that of qwen2).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, one_expert, rope, switched_windows, trunk

DEFAULTS = Defaults(hidden=2048, layers=24, heads=16, kv_heads=16, inner=5632, vocab=151936, length=32768)
WINDOW = 4096  # keys
FIRST_FULL = 28  # layer


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    one_expert(config)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    end = config.integer("max_window_layers", default=FIRST_FULL, least=0)
    windowed = [layer < end and layer % 2 == 0 for layer in range(num_layers)]
    mixers = [
        attention("softmax_rope", heads, rotation, span)
        for span in switched_windows(config, num_layers, windowed, default=WINDOW)
    ]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores={})
