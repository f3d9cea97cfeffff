"""gpt_neo: softmax attention WITHOUT the 1/sqrt(n) factor; global and windowed layers by attention_types.

Source: transformers 5.24, modeling_gpt_neo (scores are not divided; products in float32).
"""

from typing import Any

from designspace.candidate import MAX_LAYERS
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import WINDOWED, from_catalogue, head_dim, layer_block, mlp, model, sizes


def _stack(config: Config) -> Stack:
    hidden, num_heads = config.integer("hidden_size"), config.integer("num_heads")
    width = head_dim(config, hidden, num_heads)
    window = config.integer("window_size", default=256)
    config.note("score scale", "in code: scores are not divided by sqrt(head_dim)")
    channel = mlp(hidden, config.integer("intermediate_size", default=4 * hidden))
    layers = [
        layer_block(
            from_catalogue(
                "softmax_unscaled",
                heads=sizes(num_heads, num_heads, width),
                support={"window": window if kind in WINDOWED else None},
            ),
            channel,
        )
        for kind in _kinds(config)
    ]
    return Stack(layers, model(config, hidden, positions="learned"), config.integer("max_position_embeddings"))


def _kinds(config: Config) -> list[str]:
    num_layers = config.depth("num_layers")
    listed, runs = config.items("attention_layers"), config.items("attention_types")
    kinds = [kind for run in runs or [] for kind in _repeated(config, run)] if listed is None else listed
    if len(kinds) != num_layers or any(kind not in ("global", "local") for kind in kinds):
        raise config.error(
            "attention_types",
            f"`attention_types` must name global or local for each of {num_layers} layers, got {kinds}.",
        )
    return kinds


def _repeated(config: Config, run: Any) -> list[Any]:
    """The layers that one pair [kinds, count] of attention_types stands for."""
    match run:
        case [list() as kinds, int() as count] if count <= MAX_LAYERS:
            return kinds * count
        case _:
            raise config.error("attention_types", f"`attention_types` must hold pairs [kinds, count], got {run!r}.")


importer = Importer(
    _stack, ignores={"activation_function": "of the channel mixer", "layer_norm_epsilon": "eps of the block norms"}
)
