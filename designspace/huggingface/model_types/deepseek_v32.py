"""deepseek_v32: deepseek_v3 whose queries read only the `index_topk` keys that a learned indexer picks.

Source: arXiv 2512.02556; transformers 5.24, modeling_deepseek_v32. The dense part stands as the nearest mixer.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, INDEXER, Latent, indexed_stack
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=7168, layers=61, heads=128, inner=18432, vocab=129280, length=163840)
LATENT = Latent()
TOPK = 2048


def _stack(config: Config) -> Stack:
    return indexed_stack(config, DEFAULTS, LATENT, topk=TOPK)


importer = Importer(_stack, ignores=IGNORES | INDEXER)
