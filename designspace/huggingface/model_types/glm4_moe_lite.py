"""glm4_moe_lite: deepseek_v3 by code, with keys of 192 + 64 and values of 256.

Source: transformers 5.24, modeling_glm4_moe_lite (GLM-4.7-Flash).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, equal_layers, pairing
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=2048, layers=47, heads=20, inner=10240, vocab=154880, length=202752)
LATENT = Latent(nope=192, value=256, query_rank=768)


def _stack(config: Config) -> Stack:
    return equal_layers(config, DEFAULTS, LATENT, pairing=pairing(config))


importer = Importer(_stack, ignores=IGNORES)
