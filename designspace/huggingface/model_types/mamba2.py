"""mamba2: scalar decay per head (SSD), no channel mixer. Source: arXiv 2405.21060; transformers 5.24, modeling_mamba2.

`head_dim` is the value width, `state_size` the key width; the output norm runs after the gate over each group.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue
from designspace.huggingface.selective import IGNORES, grouped_heads, limited_step, pure_stack, step_range


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", "d_model")
    inner = config.integer("expand", default=2) * hidden
    width = config.integer("head_dim", default=64)
    heads = grouped_heads(
        config,
        num_heads=config.integer("num_heads", default=inner // width),
        head_dim=width,
        state_dim=config.integer("state_size", default=128),
        groups=config.integer("n_groups", default=8),
    )
    limited_step(config)
    mixer = from_catalogue(
        "mamba2",
        heads=heads,
        scaling={"initial": step_range(config)},
        io={"short_conv": {"width": config.integer("conv_kernel", default=4), "on": ["q", "k", "v"]}},
    )
    return pure_stack(config, hidden, mixer)


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "chunk_size": "execution",
        "intermediate_size": "expand times hidden_size",
        "norm_before_gate": "not read by transformers: the norm runs after the gate",
    },
)
