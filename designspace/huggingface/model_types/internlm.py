"""internlm: llama with biases; `rotary` holds base and type of the rotation. Source: internlm/internlm-7b, modeling."""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import Defaults, attention, decoder, trunk
from designspace.huggingface.rope import rotary

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=103168, length=2048)


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    mixer = attention("softmax_rope", heads, _rotation(config, heads["state_dim"]))
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS)


def _rotation(config: Config, width: int) -> dict[str, Any]:
    keys = config.nested("rotary")
    kind = keys.text("type", default="origin")
    rotation = rotary(config, width, theta=keys.number("base", default=10000.0), length=DEFAULTS.length)
    match kind:
        case "origin":
            return rotation
        case "dynamic":
            length = config.integer("max_position_embeddings", default=DEFAULTS.length)
            factor = keys.number("scaling_factor", default=1.0)
            return rotation | {"scaling": {"kind": "dynamic", "factor": factor, "original_length": length}}
        case _:
            raise unsupported(keys, "type", kind)


importer = Importer(_stack, ignores={})
