"""What the Mamba files share: sizes, the range of the step, a stack without channel mixers, keys off the tuple."""

from typing import Any

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack
from designspace.huggingface.parts import model, rms_block
from designspace.mixer import MixerSpec

DEFAULT_SEQ_LEN = 2048
IGNORES = {
    "fused_add_norm": "execution",
    "hidden_act": "SiLU after the convolution and in the gate",
    "layer_norm_epsilon": "eps of the norms",
    "n_layer": "the older name of num_hidden_layers",
    "rescale_prenorm_residual": "initialisation of weights a checkpoint replaces",
    "rms_norm": "the code always uses RMSNorm",
    "time_step_floor": "initialisation of the step",
    "time_step_init_scheme": "initialisation of the step",
    "time_step_rank": "width of the projection of the step: parameters, not the tuple",
    "time_step_scale": "initialisation of the step",
    "use_bias": "a bias of the projections leaves the tuple as it is",
    "use_conv_bias": "a bias of the convolution leaves the tuple as it is",
}


def pure_stack(config: Config, hidden: int, mixer: MixerSpec) -> Stack:
    """Equal layers of one recurrent mixer and nothing else; the file states no length."""
    block = rms_block(mixer, ChannelMixer(kind="none"))
    residual = "float32" if config.flag("residual_in_fp32", default=True) else None
    config.note("seq_len", f"no key: the training length {DEFAULT_SEQ_LEN}")
    num_layers = config.depth("num_hidden_layers", "n_layer")
    return Stack([block] * num_layers, model(config, hidden, residual=residual), DEFAULT_SEQ_LEN)


def channel_heads(inner: int, state_dim: int) -> dict[str, Any]:
    """`heads` of Mamba: each channel is a head of its own, all share q and k (C and B)."""
    return {
        "layout": "channel",
        "num_heads": inner,
        "state_dim": state_dim,
        "head_dim": 1,
        "kv_groups": 1,
        "shared": "qk",
    }


def step_range(config: Config) -> list[float]:
    """Initial range of the step dt."""
    return [config.number("time_step_min", default=0.001), config.number("time_step_max", default=0.1)]


def grouped_heads(config: Config, *, num_heads: int, head_dim: int, state_dim: int, groups: int) -> dict[str, Any]:
    """`heads` of Mamba-2: state heads share q and k in groups."""
    if num_heads % groups:
        raise config.error("n_groups", f"{groups} groups do not divide {num_heads} heads.")
    return {
        "layout": "multi",
        "num_heads": num_heads,
        "state_dim": state_dim,
        "head_dim": head_dim,
        "kv_groups": groups,
        "shared": "qk",
    }


def limited_step(config: Config) -> None:
    """Read the clamp of the step: [0, inf] clamps nothing, anything else is noted as left out."""
    limit = config.optional("time_step_limit")
    if limit not in (None, [0.0, float("inf")]):
        config.note("time_step_limit", f"the step is clamped to {limit}; the grammar has no clamp of the step")
