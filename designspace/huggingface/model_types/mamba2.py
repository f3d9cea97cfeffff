"""mamba2: scalar decay per head (SSD), no channel mixer. Source: arXiv 2405.21060; transformers 5.24, modeling_mamba2.

`head_dim` is the value width, `state_size` the key width; the output norm runs after the gate over each group.
"""

from designspace.candidate import Block, ChannelMixer, Norm
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, model
from designspace.huggingface.selective import grouped_heads, step_range

DEFAULT_SEQ_LEN = 2048


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
    mixer = from_catalogue(
        "mamba2",
        heads=heads,
        scaling={"initial": step_range(config)},
        io={"short_conv": {"width": config.integer("conv_kernel", default=4), "on": ["q", "k", "v"]}},
    )
    block = Block(mixer=mixer, norm=Norm(kind="rms", placement="pre"), channel_mixer=ChannelMixer(kind="none"))
    residual = "float32" if config.flag("residual_in_fp32", default=True) else None
    config.note("seq_len", f"no key: the training length {DEFAULT_SEQ_LEN}")
    num_layers = config.integer("num_hidden_layers", "n_layer")
    return Stack([block] * num_layers, model(config, hidden, residual=residual), DEFAULT_SEQ_LEN)


importer = Importer(
    _stack,
    ignores={
        "chunk_size": "execution",
        "hidden_act": "SiLU after the convolution and in the gate",
        "intermediate_size": "expand times hidden_size",
        "layer_norm_epsilon": "eps of the norms",
        "norm_before_gate": "not read by transformers: the norm runs after the gate",
        "rescale_prenorm_residual": "initialisation of weights a checkpoint replaces",
        "rms_norm": "the code always uses RMSNorm",
        "time_step_floor": "initialisation of the step",
        "time_step_init_scheme": "initialisation of the step",
        "time_step_limit": "clamp of the step; [0, inf] clamps nothing",
        "time_step_rank": "not read by the code",
        "time_step_scale": "initialisation of the step",
        "use_bias": "a bias of the projections leaves the tuple as it is",
        "use_conv_bias": "a bias of the convolution leaves the tuple as it is",
    },
)
