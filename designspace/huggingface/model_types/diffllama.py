"""diffllama: differential attention, the difference of two softmaxes over the same values.

Source: arXiv 2410.05258; transformers 5.24, modeling_diffllama: query heads h and h + H/2 form a pair with values of
2 head_dim; lambda starts at 0.8 - 0.6 exp(-0.3 layer) and is learned; an unweighted RMS per pair follows, then the
factor 1 - lambda_init.
"""

import math

from designspace.candidate import Parallel
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, rope, sizes

DEFAULTS = Defaults(hidden=2048, layers=16, heads=32, inner=8192, vocab=32000, length=2048)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    for key in ("num_attention_heads", "num_key_value_heads"):
        if config.integer(key, default=heads["num_heads"]) % 2:
            raise config.error(key, f"`{key}` must be even: the heads form pairs.")
    width = heads["state_dim"]
    branch = from_catalogue(
        "softmax_rope",
        heads=sizes(heads["num_heads"] // 2, heads["kv_groups"] // 2, width, 2 * width),
        rotation=rope(config, width, DEFAULTS),
        io={"output_norm": "head_rms"},
    )
    config.note("lambda", "in code: starts at 0.8 - 0.6 exp(-0.3 layer), layers counted from 0")
    config.note("output", "in code: unweighted RMS per pair of heads, then the factor 1 - lambda_init")
    mixers = [
        Parallel(parallel=(branch, branch), weights=(1.0, -_lambda(index)), learnable_weights=True, shared_values=True)
        for index in range(config.depth("num_hidden_layers", default=DEFAULTS.layers))
    ]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _lambda(index: int) -> float:
    """Weight of the second softmax at initialisation, in the layer of that index from 0."""
    return 0.8 - 0.6 * math.exp(-0.3 * index)


importer = Importer(_stack, ignores={"lambda_std_dev": "initialisation of weights a checkpoint replaces"})
