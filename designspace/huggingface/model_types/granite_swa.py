"""granite_swa: granite with sinks, a window on three of four layers and a base per layer; base 0 means no positions.

Source: transformers 5.24, configuration_granite_swa and modeling_granite_swa.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.granite import MULTIPLIERS
from designspace.huggingface.parts import Defaults, attention, decoder, every, rope, trunk, typed_windows
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(hidden=2560, layers=24, heads=20, kv_heads=4, inner=8192, vocab=100352, length=8192)
WINDOW, PERIOD = 128, 4


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    config.note("sinks", "in code: one logit per head in the denominator")
    scaling = {"base": config.number("attention_multiplier", default=1.0)}
    windowed = [not full for full in every(PERIOD, num_layers, first=0)]
    spans = typed_windows(config, num_layers, windowed, default=WINDOW)
    rotations = _rotations(config, num_layers, heads["state_dim"])
    mixers = [
        attention("softmax_sink", heads, rotation, span, scaling=scaling)
        for rotation, span in zip(rotations, spans, strict=True)
    ]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _rotations(config: Config, num_layers: int, width: int) -> list[dict[str, Any]]:
    """Of each layer: the common one with the base that `layer_rope_theta` holds."""
    common = rope(config, width, DEFAULTS)
    bases = config.items("layer_rope_theta")
    if bases is None:
        return [common] * num_layers
    if len(bases) != num_layers:
        raise config.error("layer_rope_theta", f"`layer_rope_theta` names {len(bases)} of {num_layers} layers.")
    found = [config.finite("layer_rope_theta", base) for base in bases]
    return [common | {"theta": base} if base else nope() for base in found]


importer = Importer(_stack, ignores=MULTIPLIERS)
