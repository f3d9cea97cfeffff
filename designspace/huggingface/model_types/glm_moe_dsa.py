"""glm_moe_dsa: deepseek_v32 by code, with keys of 192 + 64 and values of 256; some layers share the picked keys.

Source: transformers 5.24, modeling_glm_moe_dsa (GLM-5).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, indexed, latent_mixer, latent_stack
from designspace.huggingface.model_types.deepseek_v32 import INDEXER, TOPK
from designspace.huggingface.parts import Defaults, layer_types

DEFAULTS = Defaults(hidden=6144, layers=78, heads=64, inner=12288, vocab=154880, length=202752)
LATENT = Latent(nope=192, value=256, query_rank=2048)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    dense = latent_mixer(config, hidden, DEFAULTS, LATENT, pairing="interleaved")
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    layer_types(config, num_layers, known=("indexed_attention", "deepseek_sparse_attention"))
    mixers = [indexed(config, dense, topk=TOPK)] * num_layers
    return latent_stack(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores=IGNORES | INDEXER | {"rope_interleave": "always interleaved in code"})
