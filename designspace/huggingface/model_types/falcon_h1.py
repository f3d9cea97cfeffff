"""falcon_h1: Mamba-2 and rotary attention side by side in every layer, summed. Source: transformers 5.24, falcon_h1.

muP multipliers: key_multiplier scales the scores, the others scale inputs and outputs of a branch and leave the tuple.
"""

from designspace.candidate import Parallel
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import attention_sizes, from_catalogue, model, rms_block, rotary, swiglu
from designspace.huggingface.selective import grouped_heads, limited_step
from designspace.mixer import MixerSpec


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size")
    heads = attention_sizes(config, hidden)
    scale = heads["state_dim"] ** -0.5 * config.number("key_multiplier", default=1.0)
    attention = from_catalogue("softmax_rope", heads=heads, rotation=rotary(config), scaling={"base": scale})
    mixer = Parallel(parallel=(_mamba2(config, hidden), attention), merge="sum")
    block = rms_block(mixer, swiglu(config, hidden))
    return Stack(
        [block] * config.depth("num_hidden_layers"), model(config, hidden), config.integer("max_position_embeddings")
    )


def _mamba2(config: Config, hidden: int) -> MixerSpec:
    inner = config.integer("mamba_d_ssm", default=config.integer("mamba_expand", default=2) * hidden)
    num_heads = config.integer("mamba_n_heads")
    automatic = config.optional("mamba_d_head") in (None, "auto")
    width = inner // num_heads if automatic else config.integer("mamba_d_head")
    limited_step(config)
    normed = config.flag("mamba_rms_norm", default=False)
    before = config.flag("mamba_norm_before_gate", default=True)
    return from_catalogue(
        "mamba2",
        heads=grouped_heads(
            config,
            num_heads=num_heads,
            head_dim=width,
            state_dim=config.integer("mamba_d_state"),
            groups=config.integer("mamba_n_groups", default=1),
        ),
        io={
            "short_conv": {"width": config.integer("mamba_d_conv", default=4), "on": ["q", "k", "v"]},
            "output_norm": "group_rms" if normed else "none",
            "order": "norm_then_gate" if before else "gate_then_norm",
        },
    )


importer = Importer(
    _stack,
    ignores={
        "attention_in_multiplier": "scales the input of the branch",
        "attention_out_multiplier": "scales the output of the branch",
        "embedding_multiplier": "scales the embedding",
        "lm_head_multiplier": "scales the logits",
        "mamba_chunk_size": "execution",
        "mamba_conv_bias": "a bias of the convolution leaves the tuple as it is",
        "mamba_expand": "mamba_d_ssm is given",
        "mamba_proj_bias": "a bias of the projections leaves the tuple as it is",
        "mamba_use_mlp": "the channel mixer is always present",
        "mlp_expansion_factor": "intermediate_size is given",
        "mlp_multipliers": "scales the channel mixer",
        "projectors_bias": "a bias of the projections leaves the tuple as it is",
        "rms_norm_eps": "eps of the norms",
        "ssm_in_multiplier": "scales the input of the branch",
        "ssm_multipliers": "scales z, x, B, C, dt before their maps: initial scale only",
        "ssm_out_multiplier": "scales the output of the branch",
        "time_step_floor": "initialisation of the step",
        "time_step_max": "initialisation of the step",
        "time_step_min": "initialisation of the step",
        "time_step_rank": "not read by the code",
    },
)
