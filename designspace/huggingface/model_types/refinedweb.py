"""RefinedWeb: the name that falcon-40b first had on the hub; `n_head_kv` key/value heads.

Source: its modeling_RW, which is falcon with the new decoder architecture.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.falcon import falcon_mixer, falcon_sizes
from designspace.huggingface.plain import plain_stack


def _stack(config: Config) -> Stack:
    found = falcon_sizes(config)
    kv_heads = config.integer("n_head_kv", "num_kv_heads", default=found.heads)
    mixer = falcon_mixer(config, found, kv_heads=kv_heads)
    return plain_stack(config, found, [mixer] * found.layers)


importer = Importer(
    _stack,
    ignores={
        "apply_residual_connection_post_layernorm": "not read by the model code",
        "multi_query": "not read by the model code: n_head_kv decides",
        "new_decoder_architecture": "always so under this name",
        "parallel_attn": "attention and channel mixer side by side or in turn: the mixer is the same",
    },
    source="modeling_RW of tiiuae/falcon-40b",
)
