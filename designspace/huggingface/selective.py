"""Sizes and ranges that the Mamba files share."""

from typing import Any

from designspace.huggingface.config import Config


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
