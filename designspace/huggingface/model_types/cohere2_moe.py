"""cohere2_moe: cohere2 with experts; dense layers in front may all be full, and then rotate.

Source: transformers 5.24, configuration_cohere2_moe and modeling_cohere2_moe (force_rope).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention,
    decoder,
    every,
    interleaved,
    one_expert,
    rope,
    trunk,
    typed_windows,
)
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(hidden=8192, layers=40, heads=64, head_dim=128, inner=22528, vocab=256000, length=8192)
WINDOW, PERIOD = 4096, 4


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    interleaved(config)
    one_expert(config)
    config.note("positions", "in code: layers without a window have none, but for dense layers in front")
    config.note("parallel", "in code: x + attention(norm(x)) + mlp(norm(x)); the candidate has one after the other")
    period = config.integer("prefix_dense_sliding_window_pattern", default=1)
    is_dense = _is_dense(config, num_layers)
    spans = typed_windows(config, num_layers, _is_windowed(config, num_layers, period), default=WINDOW)
    rotation = rope(config, heads["state_dim"], DEFAULTS, pairing="interleaved")
    mixers = [
        attention("softmax_rope", heads, rotation if span or (dense and period == 1) else nope(), span)
        for span, dense in zip(spans, is_dense, strict=True)
    ]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS, norm="layer")


def _is_windowed(config: Config, num_layers: int, period: int) -> list[bool]:
    """The rule of the dense layers in front, then that of the others, which starts anew."""
    front = min(config.integer("first_k_dense_replace", default=0, least=0), num_layers)
    full = every(period, front) + every(config.integer("sliding_window_pattern", default=PERIOD), num_layers - front)
    return [not layer for layer in full]


def _is_dense(config: Config, num_layers: int) -> list[bool]:
    kinds = config.items("mlp_layer_types")
    if kinds is None:
        front = config.integer("first_k_dense_replace", default=0, least=0)
        return [layer < front for layer in range(num_layers)]
    if len(kinds) != num_layers or any(kind not in ("dense", "sparse") for kind in kinds):
        raise config.error(
            "mlp_layer_types", f"`mlp_layer_types` must be dense or sparse for each of {num_layers} layers."
        )
    return [kind == "dense" for kind in kinds]


importer = Importer(
    _stack,
    ignores={
        "expert_selection_fn": "routing of the channel mixer",
        "num_shared_experts": "routing of the channel mixer",
        "prefix_dense_intermediate_size": "of the channel mixer",
        "shared_expert_combination_strategy": "routing of the channel mixer",
    },
)
