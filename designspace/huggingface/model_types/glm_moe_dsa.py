"""glm_moe_dsa: deepseek_v32 by code, with keys of 192 + 64 and values of 256; some layers share the picked keys.

Source: transformers 5.24, modeling_glm_moe_dsa (GLM-5).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, INDEXER, Latent, indexed_stack
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=6144, layers=78, heads=64, inner=12288, vocab=154880, length=202752)
LATENT = Latent(nope=192, value=256, query_rank=2048)
TOPK = 2048


def _stack(config: Config) -> Stack:
    return indexed_stack(config, DEFAULTS, LATENT, topk=TOPK)


importer = Importer(_stack, ignores=IGNORES | INDEXER | {"rope_interleave": "always interleaved in code"})
