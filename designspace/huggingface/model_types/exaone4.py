"""exaone4: q/k norm per head; full layers rotate nothing where other layers have a window.

Source: transformers 5.24, configuration_exaone4 and modeling_exaone4: rotation if `sliding_window` is null or the layer
is windowed. `sliding_window_pattern` is a period or a word such as LLLG (L local, G global).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention,
    decoder,
    every,
    norms_on_outputs,
    rope,
    trunk,
    typed_windows,
    window_size,
)
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, kv_heads=32, inner=16384, vocab=102400, length=2048)
WINDOW, PERIOD = 4096, 4


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    norms_on_outputs(config)
    config.note("positions", "in code: full layers have none if `sliding_window` is set")
    spans = typed_windows(config, num_layers, _is_windowed(config, num_layers), default=WINDOW)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    far = nope() if window_size(config, WINDOW) else rotation
    mixers = [attention("softmax_qknorm", heads, rotation if span else far, span) for span in spans]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _is_windowed(config: Config, num_layers: int) -> list[bool]:
    pattern = config.optional("sliding_window_pattern")
    if isinstance(pattern, str) and pattern:
        if set(pattern) - {"L", "G"}:
            raise config.error(
                "sliding_window_pattern", f"`sliding_window_pattern` holds L and G only, got {pattern!r}."
            )
        return [pattern[layer % len(pattern)] == "L" for layer in range(num_layers)]
    if pattern == 0 or pattern == "" or window_size(config, WINDOW) is None:
        return [False] * num_layers
    period = config.integer("sliding_window_pattern", default=PERIOD)
    return [not full for full in every(period, num_layers)]


importer = Importer(_stack, ignores={})
