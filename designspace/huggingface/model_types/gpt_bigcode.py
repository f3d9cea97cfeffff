"""gpt_bigcode: gpt2 with one key/value head for all query heads (`multi_query`).

Source: arXiv 2301.03988; transformers 5.24, modeling_gpt_bigcode.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import gpt2_names, plain_stack

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=50257, length=1024)


def _stack(config: Config) -> Stack:
    found = gpt2_names(config, DEFAULTS)
    kv_heads = 1 if config.flag("multi_query", default=True) else found.heads
    if config.integer("num_key_value_heads", default=kv_heads) != kv_heads:
        raise config.error("num_key_value_heads", f"`multi_query` gives {kv_heads} key/value heads; remove the key.")
    scale = found.head_dim**-0.5 if config.flag("scale_attn_weights", default=True) else 1.0
    if config.flag("add_cross_attention", default=False):
        config.approximate("add_cross_attention", "the cross-attention to an encoder is left out")
    mixer = from_catalogue("softmax_nope", heads=found.heads_of(kv_heads), scaling={"base": scale})
    return plain_stack(config, found, [mixer] * found.layers, positions="learned")


importer = Importer(
    _stack,
    ignores={
        "attention_softmax_in_fp32": "execution",
        "inference_runner": "execution",
        "max_batch_size": "execution",
        "max_sequence_length": "execution: the length of a preallocated cache",
        "n_ctx": "the older name of n_positions, which the code does not read",
        "pad_key_length": "execution",
        "pre_allocate_kv_cache": "execution",
        "scale_attention_softmax_in_fp32": "execution",
        "validate_runner_input": "execution",
    },
)
