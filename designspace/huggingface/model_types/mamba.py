"""mamba: selective state space model, no channel mixer. Source: arXiv 2312.00752; transformers 5.24, modeling_mamba."""

from designspace.candidate import Block, ChannelMixer, Norm
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, model
from designspace.huggingface.selective import channel_heads, step_range

DEFAULT_SEQ_LEN = 2048


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", "d_model")
    inner = config.integer("intermediate_size", default=config.integer("expand", default=2) * hidden)
    mixer = from_catalogue(
        "mamba",
        heads=channel_heads(inner, config.integer("state_size", default=16)),
        scaling={"initial": step_range(config)},
        io={"short_conv": {"width": config.integer("conv_kernel", default=4), "on": ["v"]}},
    )
    block = Block(mixer=mixer, norm=Norm(kind="rms", placement="pre"), channel_mixer=ChannelMixer(kind="none"))
    residual = "float32" if config.flag("residual_in_fp32", default=True) else None
    config.note("seq_len", f"no key: the training length {DEFAULT_SEQ_LEN}")
    num_layers = config.integer("num_hidden_layers", "n_layer")
    return Stack([block] * num_layers, model(config, hidden, residual=residual), DEFAULT_SEQ_LEN)


importer = Importer(
    _stack,
    ignores={
        "expand": "intermediate_size is given",
        "fused_add_norm": "execution",
        "hidden_act": "SiLU after the convolution and in the gate",
        "layer_norm_epsilon": "eps of the block norms",
        "n_layer": "the older name of num_hidden_layers",
        "rescale_prenorm_residual": "initialisation of weights a checkpoint replaces",
        "rms_norm": "the code always uses RMSNorm",
        "time_step_floor": "initialisation of the step",
        "time_step_init_scheme": "initialisation of the step",
        "time_step_rank": "width of the projection of the step: parameters, not the tuple",
        "time_step_scale": "initialisation of the step",
        "use_associative_scan": "execution",
        "use_bias": "a bias of the projections leaves the tuple as it is",
        "use_conv_bias": "a bias of the convolution leaves the tuple as it is",
        "use_mambapy": "execution",
    },
)
