"""smollm3: llama without positions in every fourth layer; `no_rope_layers` holds 1 where a layer does rotate.

Source: transformers 5.24, configuration_smollm3 and modeling_smollm3. A window, if `use_sliding_window`, is on the
layers without rotation unless layer_types says otherwise.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, every, rope, switched_windows, trunk
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(
    hidden=2048, layers=36, heads=16, kv_heads=4, inner=11008, vocab=128256, length=32768, theta=2000000.0
)
PERIOD = 4


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    rotates = _rotates(config, num_layers)
    spans = switched_windows(config, num_layers, [not turns for turns in rotates], default=None)
    mixers = [
        attention("softmax_rope", heads, rotation if turns else nope(), span)
        for turns, span in zip(rotates, spans, strict=True)
    ]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _rotates(config: Config, num_layers: int) -> list[bool]:
    """Whether each layer rotates: the inverse of what the name of the key says."""
    interval = config.integer("no_rope_layer_interval", default=PERIOD)
    marks = config.integers("no_rope_layers")
    if marks is None:
        return [not last for last in every(interval, num_layers)]
    if len(marks) != num_layers or not set(marks) <= {0, 1}:
        raise config.error("no_rope_layers", f"`no_rope_layers` must hold 0 or 1 for each of {num_layers} layers.")
    return [mark == 1 for mark in marks]


importer = Importer(_stack, ignores={"max_window_layers": "not read by the model code"})
