"""log_linear_mamba2: Mamba-2 with one state per power of two of the past. Source: arXiv 2506.04761; fla-core 0.6.0,
layers/log_linear_mamba2.py and models/log_linear_mamba2.

Unlike Mamba-2 each layer has a gated channel mixer, of ratio 4 whatever the file says. The rates start at 1, 2, ... up
to the number of heads.
"""

import math
from typing import Any

from designspace.candidate import ChannelMixer
from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, layer, model
from designspace.huggingface.selective import IGNORES, clamped_step, grouped_heads, step_range

LAYERS = 48
RATIO = 4


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    fla.fixed(config, "residual_in_fp32", value=False, why="the block has no such residual")
    inner = fla.rounded_up(int(hidden * RATIO * fla.GATED_SHARE), fla.GATED_MULTIPLE)
    config.note("intermediate_size", f"in code: 2/3 of {RATIO} times the hidden size, rounded up: {inner}")
    heads = state_heads(config, hidden)
    clamped_step(config, "dt_limit")
    low, high = step_range(config)
    config.note("A", f"in code: 1 to {heads['num_heads']}, one per head")
    before = config.flag("norm_before_gate", default=False)
    mixer = from_catalogue(
        "log_linear_mamba2",
        heads=heads,
        decay={"initial": [math.exp(-heads["num_heads"] * high), math.exp(-low)]},
        scaling={"initial": [low, high]},
        io={
            "short_conv": {"width": config.integer("conv_kernel", default=4), "on": ["q", "k", "v"]},
            "output_norm": "group_rms" if config.flag("rmsnorm", default=True) else "none",
            "order": "norm_then_gate" if before else "gate_then_norm",
            "norm_eps": fla.norm_eps(config, 1e-5),
        },
    )
    if config.flag("D_has_hdim", default=False):
        config.approximate("D_has_hdim", "one D per channel; here one per head")
    block = layer(mixer, ChannelMixer(kind="swiglu", ratio=inner / hidden))
    around = model(config, hidden, vocab=fla.VOCAB)
    return Stack([block] * fla.depth(config, LAYERS), around, fla.seq_len(config, has_length=False))


def state_heads(config: Config, hidden: int) -> dict[str, Any]:
    """`heads` of Mamba-2 and Mamba-3: expand * hidden_size / head_dim of them share q and k in groups."""
    width = config.integer("head_dim", default=64)
    num_heads = fla.per_head(config, fla.expanded(config, "expand", size=hidden, default=2), width, "head_dim")
    if config.has("num_heads") and config.integer("num_heads", least=0) not in (0, num_heads):
        raise config.error("num_heads", f"`num_heads` must be expand * hidden_size / head_dim = {num_heads}.")
    config.optional("num_heads")
    state_dim, groups = config.integer("state_size", default=128), config.integer("n_groups", default=1)
    return grouped_heads(config, num_heads=num_heads, head_dim=width, state_dim=state_dim, groups=groups)


importer = Importer(_stack, ignores={**IGNORES, **fla.IGNORES}, source=fla.SOURCE)
