"""mamba2: scalar decay per head (SSD), no channel mixer. Source: arXiv 2405.21060; transformers 5.24, modeling_mamba2.

`head_dim` is the value width, `state_size` the key width; the output norm runs after the gate over each group. Files of
flash-linear-attention have the same model_type (`norm_eps` instead of `layer_norm_epsilon`) and other class defaults.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.selective import (
    IGNORES,
    clamped_step,
    grouped_heads,
    mamba2_mixer,
    pure_stack,
    silu_activation,
    step_range,
)

SIZES = (4096, 64, 32768, 8)  # hidden size, layers, vocabulary, groups
LIMITS = ("time_step_limit", "dt_limit")  # the second in newer files of flash-linear-attention
FLA_SIZES = (2048, 48, 32000, 1)  # fla-core 0.5, configuration_mamba2


def _stack(config: Config) -> Stack:
    is_fla = config.has("norm_eps") and not config.has("layer_norm_epsilon")
    size, layers, vocab, groups = FLA_SIZES if is_fla else SIZES
    hidden = config.integer("hidden_size", "d_model", default=size)
    silu_activation(config)
    inner = config.integer("expand", default=2) * hidden
    width = config.integer("head_dim", default=64)
    num_heads = config.integer("num_heads", default=max(inner // width, 1))
    if num_heads * width != inner:
        raise config.error(
            "num_heads", f"`num_heads` must be {inner / width:g}: expand * hidden_size / head_dim; got {num_heads}."
        )
    heads = grouped_heads(
        config,
        num_heads=num_heads,
        head_dim=width,
        state_dim=config.integer("state_size", default=128),
        groups=config.integer("n_groups", default=groups),
    )
    for key in LIMITS if is_fla else LIMITS[:1]:
        clamped_step(config, key)
    io = _fla_output(config) if is_fla else {}
    mixer = mamba2_mixer(heads, conv=config.integer("conv_kernel", default=4), step=step_range(config), **io)
    return pure_stack(config, hidden, mixer, layers=layers, vocab=vocab)


def _fla_output(config: Config) -> dict[str, str]:
    """Output stage by the keys that only flash-linear-attention reads."""
    if config.flag("D_has_hdim", default=False):
        config.approximate("D_has_hdim", "one D per channel; the grammar has one per head")
    before = config.flag("norm_before_gate", default=False)
    return {
        "output_norm": "group_rms" if config.flag("rmsnorm", default=True) else "none",
        "order": "norm_then_gate" if before else "gate_then_norm",
    }


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "intermediate_size": "expand times hidden_size",
        "hidden_ratio": "left in files of fla: no class of this model_type reads it, and there is no channel mixer",
    },
)
