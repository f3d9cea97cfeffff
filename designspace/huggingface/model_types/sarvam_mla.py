"""sarvam_mla: deepseek_v3 by code, queries not compressed unless q_lora_rank is given.

Source: transformers 5.24, configuration_sarvam_mla: the first files say `head_dim` for kv_lora_rank + rope and
`deepseek_yarn` for YaRN.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, equal_layers, pairing
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=4096, layers=32, heads=64, inner=16384, vocab=262144, length=4096)
LATENT = Latent(query_rank=None)
YARN_NAMES = {"type": "deepseek_yarn", "rope_type": "deepseek_yarn"}


def _stack(config: Config) -> Stack:
    old = config.data.get("rope_scaling")
    if isinstance(old, dict) and "deepseek_yarn" in (old.get("type"), old.get("rope_type")):
        config.note("rope_scaling.type", "deepseek_yarn is YaRN")
        plain = {key: value for key, value in old.items() if key not in YARN_NAMES}
        config.data = config.data | {"rope_scaling": plain | {"rope_type": "yarn"}}
    return equal_layers(config, DEFAULTS, LATENT, pairing=pairing(config))


importer = Importer(_stack, ignores=IGNORES)
