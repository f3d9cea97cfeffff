"""mamba: selective state space model, no channel mixer. Source: arXiv 2312.00752; transformers 5.24, modeling_mamba."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue
from designspace.huggingface.selective import IGNORES, channel_heads, pure_stack, step_range


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", "d_model")
    inner = config.integer("intermediate_size", default=config.integer("expand", default=2) * hidden)
    mixer = from_catalogue(
        "mamba",
        heads=channel_heads(inner, config.integer("state_size", default=16)),
        scaling={"initial": step_range(config)},
        io={"short_conv": {"width": config.integer("conv_kernel", default=4), "on": ["v"]}},
    )
    return pure_stack(config, hidden, mixer)


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "expand": "intermediate_size is given",
        "use_associative_scan": "execution",
        "use_mambapy": "execution",
    },
)
