"""olmo3: olmo2 with a window on three of four layers; scaled angles in the full layers only.

Source: transformers 5.24, configuration_olmo3 (convert_rope_params_to_dict) and modeling_olmo3.
"""

from typing import Any

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
)

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=50304, length=2048, theta=500000.0)
WINDOW, PERIOD = 4096, 4
PLAIN = ("source", "theta", "fraction", "pairing")  # what a rotation without scaling says


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    config.note("q/k norm", "in code: weighted RMS over all heads together, before the rotation")
    norms_on_outputs(config)
    windowed = [not full for full in every(PERIOD, num_layers)]
    spans = typed_windows(config, num_layers, windowed, default=WINDOW)
    near, far = _rotations(config, heads["state_dim"])
    mixers = [
        attention("softmax_qknorm", heads, near if span else far, span, features={"norm_over": "all_heads"})
        for span in spans
    ]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _rotations(config: Config, width: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the windowed and of the full layers; a scaling that names no kind of layer is for the full ones."""
    far = rope(config, width, DEFAULTS, layer_kind="full_attention")
    if "sliding_attention" in (config.optional("rope_parameters") or {}):
        return rope(config, width, DEFAULTS, layer_kind="sliding_attention"), far
    config.note("rotation of the windowed layers", "in code: the scaling of the angles is for the full layers")
    return {key: far[key] for key in PLAIN}, far


importer = Importer(_stack, ignores={})
