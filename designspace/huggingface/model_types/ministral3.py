"""ministral3: mistral with YaRN angles by default and queries that grow with the logarithm of the position.

Source: transformers 5.24, modeling_ministral3: q_i times 1 + beta ln(1 + floor(i / original length)).
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import ONE_WINDOW, Defaults, attention, decoder, rope, trunk, window_size
from designspace.huggingface.rope import is_scaled, rotary

DEFAULTS = Defaults(
    hidden=4096, layers=34, heads=32, kv_heads=8, head_dim=128, inner=14336, vocab=131072, length=262144
)
DEFAULT_THETA, DEFAULT_BETA = 1000000.0, 0.1
SCALING = {"kind": "yarn", "factor": 16.0, "original_length": 16384}


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    rotation, schedule = _rotation(config, heads["state_dim"]), _query_schedule(config)
    span = window_size(config, None)
    mixer = attention("softmax_rope", heads, rotation, span, scaling={"query_schedule": schedule})
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS)


def _rotation(config: Config, width: int) -> dict[str, Any]:
    if is_scaled(config):
        return rope(config, width, DEFAULTS)
    config.note("rope_parameters", "absent: YaRN with factor 16 from 16384, theta 1e6, the class default")
    return rotary(config, width, theta=DEFAULT_THETA, length=DEFAULTS.length) | {"scaling": SCALING}


def _query_schedule(config: Config) -> str:
    """`log` where queries grow with their position; the grammar fixes slope and step: the key is followed in part."""
    parameters = config.nested("rope_parameters" if config.has("rope_parameters") else "rope_scaling")
    beta = DEFAULT_BETA
    if is_scaled(config):
        beta = parameters.number("llama_4_scaling_beta", default=0.0)
    if beta == 0:
        return "none"
    length = parameters.optional("original_max_position_embeddings")
    parameters.approximate(
        "llama_4_scaling_beta",
        f"queries grow by 1 + {beta:g} ln(1 + floor(i / {length or 16384})); the candidate has 0.1 and 8192 there",
    )
    return "log"


importer = Importer(
    _stack,
    ignores={
        **ONE_WINDOW,
        "rope_parameters.max_position_embeddings": "not read by the rotation",
        "rope_scaling.max_position_embeddings": "not read by the rotation",
    },
)
