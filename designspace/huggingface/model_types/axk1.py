"""axk1: deepseek_v3 by code, with other sizes. Source: transformers 5.24, configuration_axk1 and modeling_axk1."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, equal_layers, pairing
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=7168, layers=61, heads=64, inner=18432, vocab=163840, length=32768)
LATENT = Latent()


def _stack(config: Config) -> Stack:
    return equal_layers(config, DEFAULTS, LATENT, pairing=pairing(config))


importer = Importer(_stack, ignores=IGNORES)
