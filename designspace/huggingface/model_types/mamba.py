"""mamba: selective state space model, no channel mixer. Source: arXiv 2312.00752; transformers 5.24, modeling_mamba.

`intermediate_size`, where a file holds it, is expand times the hidden size. Files of flash-linear-attention have the
same model_type (`norm_eps` instead of `layer_norm_epsilon`) and other class defaults.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.selective import (
    IGNORES,
    channel_heads,
    mamba_mixer,
    pure_stack,
    silu_activation,
    step_range,
)

FLA_SIZES = (2048, 48, 32000)  # hidden size, layers, vocabulary: fla-core 0.5, configuration_mamba
SIZES = (768, 32, 50280)


def _stack(config: Config) -> Stack:
    is_fla = config.has("norm_eps") and not config.has("layer_norm_epsilon")
    width, layers, vocab = FLA_SIZES if is_fla else SIZES
    hidden = config.integer("hidden_size", "d_model", default=width)
    silu_activation(config)
    _agreeing_width(config, hidden)
    mixer = mamba_mixer(
        selective_heads(config, hidden), conv=config.integer("conv_kernel", default=4), step=step_range(config)
    )
    return pure_stack(config, hidden, mixer, layers=layers, vocab=vocab, in_float32=not is_fla)


def _agreeing_width(config: Config, hidden: int) -> None:
    """All published files of this model_type hold `expand` and widths that agree."""
    for key in ("intermediate_size", "d_inner"):
        if config.has("expand") and config.has(key) and config.integer(key) != config.integer("expand") * hidden:
            wide = config.integer("expand") * hidden
            raise config.error("expand", f"`expand` asks for a width of {wide}, `{key}` says {config.data[key]}.")


def selective_heads(config: Config, hidden: int) -> dict[str, object]:
    """`heads` from the keys of Mamba and Falcon Mamba."""
    inner = config.integer("intermediate_size", "d_inner", default=config.integer("expand", default=2) * hidden)
    return channel_heads(inner, config.integer("state_size", default=16))


importer = Importer(_stack, ignores=IGNORES)
