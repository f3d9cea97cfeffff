"""qwen3_next: three Gated DeltaNet layers, then one gated softmax layer. Source: transformers 5.24, qwen3_next.

16 q/k heads serve 32 value heads in the linear layers; head_dim belongs to the attention layers only; the output gate
and the q/k norm are in code.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import attention_sizes, from_catalogue, layer_types, model, rms_block, rotary, swiglu
from designspace.huggingface.selective import grouped_heads

DEFAULT_INTERVAL = 4


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size")
    attention = from_catalogue(
        "gated_softmax", heads=attention_sizes(config, hidden), rotation=rotary(config, fraction=0.25)
    )
    delta = from_catalogue(
        "gated_deltanet",
        heads=grouped_heads(
            config,
            num_heads=config.integer("linear_num_value_heads"),
            head_dim=config.integer("linear_value_head_dim"),
            state_dim=config.integer("linear_key_head_dim"),
            groups=config.integer("linear_num_key_heads"),
        ),
        io={"short_conv": {"width": config.integer("linear_conv_kernel_dim"), "on": ["q", "k", "v"]}},
    )
    config.note("q/k norm, output gate", "in code: weighted RMS per head before the rotation; sigmoid gate")
    config.note("experts", "the channel mixer stands for one expert of moe_intermediate_size times num_experts_per_tok")
    channel = swiglu(config, hidden, "intermediate_size")
    layers = [rms_block(attention if full else delta, channel) for full in _is_full(config)]
    return Stack(layers, model(config, hidden), config.integer("max_position_embeddings"))


def _is_full(config: Config) -> list[bool]:
    num_layers = config.depth("num_hidden_layers")
    types = layer_types(config, num_layers)
    if types is None:
        interval = config.integer("full_attention_interval", default=DEFAULT_INTERVAL)
        return [(layer + 1) % interval == 0 for layer in range(num_layers)]
    return [kind == "full_attention" for kind in types]


importer = Importer(
    _stack,
    ignores={
        "decoder_sparse_step": "routing of the channel mixer",
        "full_attention_interval": "layer_types decides",
        "mlp_only_layers": "routing of the channel mixer",
        "moe_intermediate_size": "routing of the channel mixer",
        "num_experts": "routing of the channel mixer",
        "num_experts_per_tok": "routing of the channel mixer",
        "rms_norm_eps": "eps of the norms",
        "shared_expert_intermediate_size": "routing of the channel mixer",
        "use_sliding_window": "no window in the model code",
    },
)
