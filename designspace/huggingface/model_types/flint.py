"""flint: experts; sinks; windowed layers rotate, the full ones have no positions; q/k norm per head.

Source: transformers 5.24, configuration_flint (layers 0, 1, 5, 9, ... and the last are full) and modeling_flint.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, one_expert, rope, trunk, typed_windows
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(hidden=2048, layers=49, heads=32, kv_heads=4, head_dim=128, inner=6144, vocab=150144, length=262144)
WINDOW, PERIOD = 513, 4
NORM = {"norm": "rms_weighted", "eps_kind": "mean"}


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    one_expert(config)
    config.note("sinks", "in code: one logit per head in the denominator")
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    config.note("positions", "in code: layers without a window have none")
    windowed = [layer > 1 and layer % PERIOD != 1 and layer < num_layers - 1 for layer in range(num_layers)]
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    mixers = [
        attention("softmax_sink", heads, rotation if span else nope(), span, features=NORM)
        for span in typed_windows(config, num_layers, windowed, default=WINDOW)
    ]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores={})
