"""What files with Mamba layers share: sizes, the range and the clamp of the step, a stack without channel mixers.

Mamba: arXiv 2312.00752; Mamba-2: arXiv 2405.21060. Names of their sizes on the left, those of the grammar on the right:
inner width = num_heads * head_dim, state_size = state_dim (B is the key, C the query), groups = kv_groups.
"""

import math
from collections.abc import Mapping
from typing import Any

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack, unsupported
from designspace.huggingface.parts import from_catalogue, layer, model
from designspace.mixer import MixerSpec

DEFAULT_SEQ_LEN = 2048
SILU = ("silu", "swish")
STEP = (0.001, 0.1)  # of dt at initialisation, where no key says
HYBRID_HEADS, HYBRID_STATE = 128, 256  # class defaults of Bamba, Granite and Falcon-H1
UNREACHED = 1e30  # a bound of dt like this stands for none: some files hold the largest double, not an infinity
FASTEST = 16.0  # largest rate A of Mamba-2 at initialisation; A = 1..state_size in Mamba
_CONV_BIAS = "a bias of the convolution leaves the tuple as it is"
_BIAS = "a bias of the projections leaves the tuple as it is"
_STEP = "initialisation of the step"
IGNORES = {
    "A_init_range": "initialisation of the decay",
    "chunk_size": "execution",
    "conv_init": "initialisation of the convolution",
    "dt_init_floor": _STEP,
    "dt_init_scheme": _STEP,
    "dt_rank": "width of the projection of the step: parameters, not the tuple",
    "dt_scale": _STEP,
    "fuse_cross_entropy": "execution",
    "fuse_linear_cross_entropy": "execution",
    "fuse_norm": "execution",
    "fused_add_norm": "execution",
    "layer_norm_epsilon": "eps of the norms",
    "mamba_chunk_size": "execution",
    "mamba_conv_bias": _CONV_BIAS,
    "mamba_proj_bias": _BIAS,
    "mamba_ssm_cache_dtype": "execution: format of the state",
    "mamba_ssm_dtype": "execution: format of the state",
    "norm_before_gate": "not read by transformers: the norm runs after the gate",
    "rescale_prenorm_residual": "initialisation of weights a checkpoint replaces",
    "residual_in_fp32": "format of the residual stream, not read for this model type",
    "ssm_cfg": "arguments of state-spaces/mamba, which transformers does not read",
    "rms_norm": "the code always uses RMSNorm",
    "time_step_floor": _STEP,
    "time_step_init_scheme": _STEP,
    "time_step_rank": "width of the projection of the step: parameters, not the tuple",
    "time_step_scale": _STEP,
    "use_associative_scan": "execution",
    "use_bias": _BIAS,
    "use_conv_bias": _CONV_BIAS,
    "use_l2warp": "training only",
    "use_mamba_kernels": "execution",
    "use_mambapy": "execution",
    "use_mem_eff_path": "execution",
}
UNROTATED = dict.fromkeys(
    ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "rotary_emb_base"),
    "no layer rotates its keys: the code defines no rotary embedding, or does not apply it",
)


def pure_stack(
    config: Config,
    hidden: int,
    mixer: MixerSpec,
    *,
    layers: int,
    vocab: int,
    seq_len: int = DEFAULT_SEQ_LEN,
    in_float32: bool = True,
) -> Stack:
    """Equal layers of one recurrent mixer and nothing else; `layers`, `vocab` and `in_float32` (the residual stream)
    are the class defaults.
    """
    block = layer(mixer, ChannelMixer(kind="none"))
    residual = "float32" if config.flag("residual_in_fp32", default=in_float32) else None
    num_layers = config.depth("num_hidden_layers", "n_layer", default=layers)
    why = "no key of the model code: the training length"
    length = config.integer("max_position_embeddings", default=seq_len, because=why)
    return Stack([block] * num_layers, model(config, hidden, residual=residual, vocab=vocab), length)


def channel_heads(inner: int, state_dim: int, groups: int = 1) -> dict[str, Any]:
    """`heads` of Mamba: each channel is a head of its own, which share q and k (C and B) in `groups`."""
    return {
        "layout": "channel",
        "num_heads": inner,
        "state_dim": state_dim,
        "head_dim": 1,
        "kv_groups": groups,
        "shared": "qk",
    }


def grouped_heads(
    config: Config, *, num_heads: int, head_dim: int, state_dim: int, groups: int, key: str = "n_groups"
) -> dict[str, Any]:
    """`heads` of Mamba-2: state heads share q and k in groups, whose number stands at `key`."""
    if num_heads % groups:
        raise config.error(key, f"`{key}` must divide the {num_heads} heads, got {groups}.")
    return {
        "layout": "multi",
        "num_heads": num_heads,
        "state_dim": state_dim,
        "head_dim": head_dim,
        "kv_groups": groups,
        "shared": "qk",
    }


def mamba_mixer(
    heads: dict[str, Any],
    *,
    conv: int,
    step: tuple[float, float] = STEP,
    features: Mapping[str, Any] | None = None,
) -> MixerSpec:
    """Mamba with A = 1..state_dim; `conv` taps on the channels. `features`: norms of B and C."""
    return from_catalogue(
        "mamba",
        heads=heads,
        decay={"initial": _decay_range(step, heads["state_dim"])},
        scaling={"initial": list(step)},
        features=dict(features or {}),
        io={"short_conv": {"width": conv, "on": ["v"]}},
    )


def mamba2_mixer(heads: dict[str, Any], *, conv: int, step: tuple[float, float] = STEP, **io: Any) -> MixerSpec:
    """Mamba-2 with A in [1, 16]; `conv` taps on B, C and the channels. `io`: further keys of the output stage."""
    return from_catalogue(
        "mamba2",
        heads=heads,
        decay={"initial": _decay_range(step, FASTEST)},
        scaling={"initial": list(step)},
        io={"short_conv": {"width": conv, "on": ["q", "k", "v"]}, **io},
    )


def hybrid_mamba2(config: Config, inner: int, **io: Any) -> MixerSpec:
    """Mamba-2 from the `mamba_*` keys of Bamba, Granite and Falcon-H1; `io`: further keys of the output stage.

    `mamba_d_head` is the value width, inner width / heads where it is "auto"; an explicit one must be that too.
    """
    num_heads = config.integer("mamba_n_heads", default=HYBRID_HEADS)
    if inner % num_heads:
        raise config.error("mamba_n_heads", f"`mamba_n_heads` must divide the inner width {inner}, got {num_heads}.")
    width = inner // num_heads
    if config.optional("mamba_d_head") in (None, "auto"):
        config.note("mamba_d_head", f"inner width / heads = {width}")
    elif config.integer("mamba_d_head") != width:
        raise config.error(
            "mamba_d_head", f"`mamba_d_head` must be {width}: {num_heads} heads have an inner width of {inner}."
        )
    silu_activation(config)
    clamped_step(config)
    heads = grouped_heads(
        config,
        num_heads=num_heads,
        head_dim=width,
        state_dim=config.integer("mamba_d_state", default=HYBRID_STATE),
        groups=config.integer("mamba_n_groups", default=1),
        key="mamba_n_groups",
    )
    return mamba2_mixer(heads, conv=config.integer("mamba_d_conv", default=4), **io)


def silu_activation(config: Config, key: str = "hidden_act") -> None:
    """Read the activation of queries, keys and values, which must be SiLU: the candidates have no other."""
    name = config.text(key, default="silu")
    if name not in SILU:
        raise unsupported(config, key, name)


def step_range(config: Config) -> tuple[float, float]:
    """Initial range of the step dt."""
    low = config.number("time_step_min", "mamba_dt_min", "dt_min", default=STEP[0])
    high = config.number("time_step_max", "mamba_dt_max", "dt_max", default=STEP[1])
    if not 0 < low <= high:
        raise config.error(
            "time_step_min", f"`time_step_min` and `time_step_max` must be 0 < min <= max, got {low:g}, {high:g}."
        )
    return low, high


def clamped_step(config: Config, key: str = "time_step_limit") -> None:
    """Read the clamp of the step: [0, inf] clamps nothing, anything else is left out of the candidate.

    Recent files write an infinity as {"__float__": "Infinity"}.
    """
    bounds = config.items(key)
    if bounds is None:
        return
    limit = [_tagged(bound) for bound in bounds]
    if len(limit) != 2 or not all(isinstance(bound, int | float) for bound in limit) or limit[0] > limit[1]:
        raise config.error(key, f"`{key}` must be two numbers [low, high], got {bounds!r}.")
    if limit[0] > 0 or limit[1] < UNREACHED:
        config.approximate(key, f"the step is clamped to {limit}; the grammar has no clamp of the step")


def floored_step(config: Config, low: float) -> None:
    """Record a step that the code clamps from below at its least initial value (Zamba2, Nemotron-H)."""
    config.approximate("time_step_min", f"in code: the step is at least {low:g}; the grammar has no clamp of the step")


def _tagged(bound: Any) -> Any:
    """A number that the file may hold in an object, since JSON has no infinity."""
    value = bound.get("__float__") if isinstance(bound, dict) else bound
    return math.inf if value in ("Infinity", "inf") else value


def _decay_range(step: tuple[float, float], fastest: float) -> list[float]:
    """Where exp(-A dt) starts, with A in [1, fastest]."""
    return [math.exp(-fastest * step[1]), math.exp(-step[0])]
