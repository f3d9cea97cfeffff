"""Stacks with LayerNorm and a plain channel mixer around attention of equal heads: GPT-2 and what came from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from designspace.candidate import AnyMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack
from designspace.huggingface.parts import Defaults, layer, mlp, model, sizes


@dataclass(frozen=True)
class Plain:
    """Sizes of such a stack as read from a file."""

    hidden: int
    layers: int
    heads: int
    head_dim: int
    inner: int
    length: int
    vocab: int

    def heads_of(self, kv_heads: int | None = None) -> dict[str, Any]:
        """`heads` of a mixer; one key/value head for each query head unless given."""
        return sizes(self.heads, kv_heads or self.heads, self.head_dim)


def plain(
    config: Config,
    defaults: Defaults,
    *,
    hidden: Sequence[str] = ("hidden_size",),
    layers: Sequence[str] = ("num_hidden_layers",),
    heads: Sequence[str] = ("num_attention_heads",),
    inner: Sequence[str] = ("intermediate_size",),
    length: Sequence[str] = ("max_position_embeddings",),
    fourfold: bool = False,
) -> Plain:
    """Sizes under the names that the model class gives them.

    Args:
        fourfold: an inner width that the file leaves out is four times the width, whatever that is.
    """
    width = config.integer(*hidden, default=defaults.hidden)
    count = config.integer(*heads, default=defaults.heads)
    if width % count:
        raise config.error(heads[0], f"`{heads[0]}: {count}` does not divide the width {width} (`{hidden[0]}`).")
    return Plain(
        hidden=width,
        layers=config.depth(*layers, default=defaults.layers),
        heads=count,
        head_dim=_head_dim(config, width // count),
        inner=config.integer(
            *inner, default=4 * width if fourfold else defaults.inner, because="4 * hidden size" if fourfold else ""
        ),
        length=config.integer(*length, default=defaults.length),
        vocab=defaults.vocab,
    )


def _head_dim(config: Config, width: int) -> int:
    """Width / heads, which is fixed in code: a file that says otherwise does not fit its weights."""
    if config.integer("head_dim", default=width, because="hidden size / heads, fixed in code") != width:
        raise config.error("head_dim", f"`head_dim` is hidden size / heads = {width} in this model class.")
    return width


def gpt2_names(
    config: Config, defaults: Defaults, *, inner: Sequence[str] = ("n_inner",), fourfold: bool = True
) -> Plain:
    """Sizes of the classes that say n_embd, n_layer, n_head, n_positions (and take the newer names too)."""
    return plain(
        config,
        defaults,
        hidden=("n_embd", "hidden_size"),
        layers=("n_layer", "num_hidden_layers"),
        heads=("n_head", "num_attention_heads"),
        inner=inner,
        length=("n_positions", "max_position_embeddings"),
        fourfold=fourfold,
    )


def plain_stack(config: Config, found: Plain, mixers: Sequence[AnyMixer], *, positions: str = "none") -> Stack:
    """One layer for each of `mixers`."""
    channel = mlp(found.hidden, found.inner)
    layers = [layer(mixer, channel, norm="layer") for mixer in mixers]
    around = model(config, found.hidden, positions=positions, vocab=found.vocab)
    return Stack(layers, around, found.length)
