"""bloom: softmax attention with ALiBi added after the score scale; implied by the model_type, no key says so.

Source: transformers 5.24, modeling_bloom (build_alibi_tensor); arXiv 2108.12409 for other head counts.
"""

import math

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, head_dim, layer_block, mlp, model, sizes

DEFAULT_SEQ_LEN = 2048


def _stack(config: Config) -> Stack:
    hidden, num_heads = config.integer("hidden_size", "n_embed"), config.integer("n_head", "num_attention_heads")
    width = head_dim(config, hidden, num_heads)
    config.note("position", "in code: ALiBi with slopes 2^(-8h/H), added after the scale")
    mixer = from_catalogue(
        "softmax_alibi",
        heads=sizes(num_heads, num_heads, width),
        shear={"slopes": None if _is_power_of_two(num_heads) else _slopes(num_heads)},
    )
    channel = mlp(hidden, config.integer("n_inner", default=4 * hidden))
    layers = [layer_block(mixer, channel)] * config.depth("n_layer", "num_hidden_layers")
    return Stack(layers, model(config, hidden), config.integer("seq_length", default=DEFAULT_SEQ_LEN))


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


def _slopes(num_heads: int) -> list[float]:
    """Slopes of the next lower power of two, then every other slope of the next higher one."""
    lower = 2 ** math.floor(math.log2(num_heads))
    first = [2.0 ** (-8.0 * (head + 1) / lower) for head in range(lower)]
    return first + [2.0 ** (-4.0 * (2 * head + 1) / lower) for head in range(num_heads - lower)]


importer = Importer(
    _stack,
    ignores={
        "layer_norm_epsilon": "eps of the block norms",
        "apply_residual_connection_post_layernorm": "which stream feeds the skip; off in every released model",
        "attention_softmax_in_fp32": "execution",
        "bias_dropout_fusion": "execution",
        "masked_softmax_fusion": "execution",
        "slow_but_exact": "execution",
        "skip_bias_add": "execution",
        "skip_bias_add_qkv": "execution",
        "offset_alibi": "not read by the model code",
    },
)
