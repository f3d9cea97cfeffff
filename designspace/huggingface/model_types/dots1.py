"""dots1: experts; weighted RMS per head on q and k; a window from layer `max_window_layers` on.

Source: transformers 5.24, configuration_dots1 and modeling_dots1.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, one_expert, rope, trunk, typed_windows

DEFAULTS = Defaults(hidden=4608, layers=62, heads=32, kv_heads=32, inner=10944, vocab=152064, length=2048)
WINDOW, FIRST_WINDOWED = 4096, 62


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    one_expert(config)
    first = config.integer("max_window_layers", default=FIRST_WINDOWED, least=0)
    spans = typed_windows(config, num_layers, [layer >= first for layer in range(num_layers)], default=WINDOW)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    mixers = [attention("softmax_qknorm", heads, rotation, span) for span in spans]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores={"use_sliding_window": "not read by the model code"})
