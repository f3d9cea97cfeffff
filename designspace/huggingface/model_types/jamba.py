"""jamba: Mamba layers (with RMS norms on dt, B, C) and softmax layers without any position operator.

Source: arXiv 2403.19887; transformers 5.24, modeling_jamba: attention where layer % period == offset; apply_rotary is
defined there and never called.
"""

from designspace.candidate import Block
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import attention_sizes, from_catalogue, model, rms_block, swiglu
from designspace.huggingface.selective import channel_heads


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size")
    period = config.integer("attn_layer_period", default=8)
    offset = config.integer("attn_layer_offset", default=4, least=0)
    attention = from_catalogue("softmax_nope", heads=attention_sizes(config, hidden))
    config.note("position", "in code: no rotary embedding; the Mamba layers carry position")
    mamba = from_catalogue(
        "mamba",
        heads=channel_heads(
            config.integer("mamba_expand", default=2) * hidden, config.integer("mamba_d_state", default=16)
        ),
        features={"norm": "rms_weighted"},
        io={"short_conv": {"width": config.integer("mamba_d_conv", default=4), "on": ["v"]}},
    )
    config.note("norm on dt, B, C", "in code: weighted RMS")
    channel = swiglu(config, hidden)
    config.note("experts", "each expert has the width of intermediate_size; the channel mixer stands for one")
    layers: list[Block] = [
        rms_block(attention if layer % period == offset else mamba, channel)
        for layer in range(config.depth("num_hidden_layers"))
    ]
    return Stack(layers, model(config, hidden), config.integer("max_position_embeddings", default=262_144))


importer = Importer(
    _stack,
    ignores={
        "expert_layer_offset": "routing of the channel mixer",
        "expert_layer_period": "routing of the channel mixer",
        "mamba_conv_bias": "a bias of the convolution leaves the tuple as it is",
        "mamba_dt_rank": "width of the projection of the step: parameters, not the tuple",
        "mamba_proj_bias": "a bias of the projections leaves the tuple as it is",
        "num_experts": "routing of the channel mixer",
        "num_experts_per_tok": "routing of the channel mixer",
        "rms_norm_eps": "eps of the block norms",
        "sliding_window": "not read by the model code",
        "use_associative_scan": "execution",
        "use_mamba_kernels": "execution",
        "use_mambapy": "execution",
        "n_ctx": "the length of pre-training; max_position_embeddings is the limit",
        "calc_logits_for_entire_prompt": "generation",
    },
)
