"""gpt_neo: softmax attention WITHOUT the 1/sqrt(n) factor; global and windowed layers by attention_types.

Source: transformers 5.24, modeling_gpt_neo (scores are not divided; products in float32).
"""

from typing import Any

from designspace.candidate import MAX_LAYERS
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import plain, plain_stack

DEFAULTS = Defaults(hidden=2048, layers=24, heads=16, inner=8192, vocab=50257, length=2048)
DEFAULT_WINDOW = 256


def _stack(config: Config) -> Stack:
    found = plain(
        config,
        DEFAULTS,
        layers=("num_layers", "num_hidden_layers"),
        heads=("num_heads", "num_attention_heads"),
        fourfold=True,
    )
    window = config.integer("window_size", default=DEFAULT_WINDOW)
    config.note("score scale", "in code: scores are not divided by sqrt(head_dim)")
    mixers = [
        from_catalogue(
            "softmax_unscaled", heads=found.heads_of(), support={"window": window if kind == "local" else None}
        )
        for kind in _kinds(config, found.layers)
    ]
    return plain_stack(config, found, mixers, positions="learned")


def _kinds(config: Config, num_layers: int) -> list[str]:
    """global or local for each layer: attention_types, which attention_layers repeats written out."""
    listed, runs = config.items("attention_layers"), config.items("attention_types")
    if runs is None and listed is None:
        config.note("attention_types", "the default of transformers 5.24: global and local in turn")
        kinds = ["global" if index % 2 == 0 else "local" for index in range(num_layers)]
    else:
        kinds = [kind for run in runs or [] for kind in _repeated(config, run)] if listed is None else listed
    if len(kinds) != num_layers or any(kind not in ("global", "local") for kind in kinds):
        raise config.error(
            "attention_types",
            f"`attention_types` must name global or local for each of {num_layers} layers, got {kinds}.",
        )
    if runs is not None and [kind for run in runs for kind in _repeated(config, run)] != kinds:
        raise config.error("attention_layers", "`attention_layers` contradicts `attention_types`; keep one.")
    return kinds


def _repeated(config: Config, run: Any) -> list[Any]:
    """The layers that one pair [kinds, count] of attention_types stands for."""
    match run:
        case [list() as kinds, int() as count] if count <= MAX_LAYERS:
            return kinds * count
        case _:
            raise config.error("attention_types", f"`attention_types` must hold pairs [kinds, count], got {run!r}.")


importer = Importer(_stack, ignores={})
