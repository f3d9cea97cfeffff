"""deepseek_v2: multi-head latent attention, interleaved pairs. Source: arXiv 2405.04434; transformers 5.24.

The score scale holds the square of YaRN's factor at mscale_all_dim (modeling_deepseek_v2, yarn_apply_mscale).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, equal_layers
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=102400, length=2048)
LATENT = Latent()


def _stack(config: Config) -> Stack:
    return equal_layers(config, DEFAULTS, LATENT, pairing="interleaved")


importer = Importer(_stack, ignores=IGNORES)
