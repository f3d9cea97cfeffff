"""deepseek_v3: multi-head latent attention; pairs interleaved unless rope_interleave is false.

Source: arXiv 2412.19437; transformers 5.24, modeling_deepseek_v3.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, equal_layers, pairing
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=7168, layers=61, heads=128, inner=18432, vocab=129280, length=4096)
LATENT = Latent()


def _stack(config: Config) -> Stack:
    return equal_layers(config, DEFAULTS, LATENT, pairing=pairing(config))


importer = Importer(_stack, ignores=IGNORES)
