"""apertus: weighted RMS per head on q and k before the rotation, plain channel mixer; Llama 3 angles by default.

Source: transformers 5.24, configuration_apertus and modeling_apertus.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import Defaults, attention, decoder, mlp, rope, trunk
from designspace.huggingface.rope import is_scaled

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=14336, vocab=131072, length=65536, theta=12000000.0)
SCALING = {"kind": "llama3", "factor": 8.0, "original_length": 8192, "low": 1.0, "high": 4.0}


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    if not config.flag("qk_norm", default=True):
        raise unsupported(config, "qk_norm", False)
    mixer = attention("softmax_qknorm", heads, _rotation(config, heads["state_dim"]))
    channel = mlp(hidden, config.integer("intermediate_size", default=DEFAULTS.inner))
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS, channel=channel)


def _rotation(config: Config, width: int) -> dict[str, Any]:
    rotation = rope(config, width, DEFAULTS)
    if is_scaled(config):
        return rotation
    config.note("rope_parameters", "absent: those of Llama 3 with factor 8, the class default")
    return rotation | {"scaling": SCALING}


importer = Importer(_stack, ignores={"post_norm": "of the norms around the sub-layers"})
