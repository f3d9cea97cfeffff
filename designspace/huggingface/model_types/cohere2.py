"""cohere2: three windowed layers with interleaved rotation, then one full layer without positions.

Source: transformers 5.24, configuration_cohere2 and modeling_cohere2 (rotation only under a window).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import (
    Defaults,
    attention,
    decoder,
    every,
    interleaved,
    rope,
    stated,
    trunk,
    typed_windows,
)
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(hidden=8192, layers=40, heads=64, inner=22528, vocab=256000, length=8192)
WINDOW, PERIOD = 4096, 4


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    interleaved(config)
    config.note("positions", "in code: layers without a window have none")
    config.note("parallel", "in code: x + attention(norm(x)) + mlp(norm(x)); the candidate has one after the other")
    _check(config)
    period = config.integer("sliding_window_pattern", "_sliding_window_pattern", "layer_switch", default=PERIOD)
    windowed = [not full for full in every(period, num_layers)]
    spans = typed_windows(config, num_layers, windowed, default=WINDOW)
    rotation = rope(config, heads["state_dim"], DEFAULTS, pairing="interleaved")
    mixers = [attention("softmax_rope", heads, rotation if span else nope(), span) for span in spans]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS, norm="layer")


def _check(config: Config) -> None:
    """Keys that say in words what the code does anyway."""
    stated(config, "use_qk_norm", False, why="q and k have no norm")
    if (code := config.text("position_embedding_type", default="rope_gptj")) != "rope_gptj":
        raise unsupported(config, "position_embedding_type", code)
    if (order := config.text("order_of_interleaved_layers", default="local_attn_first")) != "local_attn_first":
        raise unsupported(config, "order_of_interleaved_layers", order)


importer = Importer(
    _stack,
    ignores={
        "cache_implementation": "execution",
        "use_embedding_sharing": "outside the mixer",
        "use_gated_activation": "of the channel mixer",
        "use_parallel_block": "the channel mixer stands beside the attention; does not bear on the tuple",
        "use_parallel_embedding": "execution",
    },
)
