"""deepseek_v32: deepseek_v3 whose queries read only the `index_topk` keys that a learned indexer picks.

Source: arXiv 2512.02556; transformers 5.24, modeling_deepseek_v32. The dense part stands as the nearest mixer.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, Latent, indexed, latent_mixer, latent_stack
from designspace.huggingface.parts import Defaults, layer_types

DEFAULTS = Defaults(hidden=7168, layers=61, heads=128, inner=18432, vocab=129280, length=163840)
LATENT = Latent()
TOPK = 2048
INDEXER = {
    "index_head_dim": "of the indexer, which is outside the grammar",
    "index_n_heads": "of the indexer, which is outside the grammar",
    "index_skip_topk_offset": "which layers share the picked keys of another: outside the grammar",
    "index_topk_freq": "which layers share the picked keys of another: outside the grammar",
    "index_topk_pattern": "which layers share the picked keys of another: outside the grammar",
    "indexer_rope_interleave": "of the indexer, which is outside the grammar",
    "indexer_types": "which layers share the picked keys of another: outside the grammar",
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    dense = latent_mixer(config, hidden, DEFAULTS, LATENT, pairing="interleaved")
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    layer_types(config, num_layers, known=("indexed_attention", "deepseek_sparse_attention"))
    mixers = [indexed(config, dense, topk=TOPK)] * num_layers
    return latent_stack(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(_stack, ignores=IGNORES | INDEXER)
