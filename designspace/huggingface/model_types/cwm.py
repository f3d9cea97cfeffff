"""cwm: llama with a window on three of four layers, the first of each four being full; Llama 3 angles by default.

Source: transformers 5.24, configuration_cwm and modeling_cwm.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, every, rope, trunk, typed_windows
from designspace.huggingface.rope import is_scaled

DEFAULTS = Defaults(
    hidden=6144,
    layers=64,
    heads=48,
    kv_heads=8,
    head_dim=128,
    inner=21504,
    vocab=128256,
    length=131072,
    theta=1000000.0,
)
WINDOW, PERIOD = 8192, 4
SCALING = {"kind": "llama3", "factor": 16.0, "original_length": 8192, "low": 1.0, "high": 4.0}


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    windowed = [not full for full in every(PERIOD, num_layers, first=0)]
    spans = typed_windows(config, num_layers, windowed, default=WINDOW)
    rotation = _rotation(config, heads["state_dim"])
    mixers = [attention("softmax_rope", heads, rotation, span) for span in spans]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _rotation(config: Config, width: int) -> dict[str, Any]:
    rotation = rope(config, width, DEFAULTS)
    if is_scaled(config):
        return rotation
    config.note("rope_parameters", "absent: those of Llama 3 with factor 16, the class default")
    return rotation | {"scaling": SCALING}


importer = Importer(_stack, ignores={})
