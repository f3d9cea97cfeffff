"""youtu: deepseek_v3 by code, dense and small. Source: transformers 5.24, modeling_youtu (Youtu-LLM-2B)."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import Latent, equal_layers, pairing
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=2048, layers=32, heads=16, inner=6144, vocab=128256, length=131072)
LATENT = Latent()


def _stack(config: Config) -> Stack:
    return equal_layers(config, DEFAULTS, LATENT, pairing=pairing(config), experts=False)


importer = Importer(_stack, ignores={"embedding_initializer_range": "training only"})
