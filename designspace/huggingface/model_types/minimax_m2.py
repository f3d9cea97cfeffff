"""minimax_m2: experts; RMS over the whole projection of q and of k; `rotary_dim` of the channels rotate.

Source: transformers 5.24, modeling_minimax_m2. `attn_type_list` of older files names softmax layers (1) only.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(
    hidden=3072,
    layers=62,
    heads=48,
    kv_heads=8,
    head_dim=128,
    inner=1536,
    vocab=200064,
    length=196608,
    theta=5000000.0,
)


def _stack(config: Config) -> Stack:
    config.note("q/k norm", "in code: weighted RMS over all heads together, before the rotation")
    one_expert(config)
    if not config.flag("use_qk_norm", default=True):
        raise unsupported(config, "use_qk_norm", False)
    if (kind := config.text("qk_norm_type", default="per_layer")) != "per_layer":
        raise unsupported(config, "qk_norm_type", kind)
    if set(types := config.integers("attn_type_list") or [1]) != {1}:
        raise unsupported(config, "attn_type_list", types)
    return llama_like(config, "softmax_qknorm", DEFAULTS, features={"norm_over": "all_heads"})


importer = Importer(
    _stack,
    ignores={
        **NO_WINDOW,
        "layernorm_full_attention_beta": "scales the residual stream",
        "layernorm_linear_attention_beta": "scales the residual stream",
        "layernorm_mlp_beta": "scales the residual stream",
        "layernorm_full_attention_alpha": "scales the residual stream",
        "layernorm_linear_attention_alpha": "scales the residual stream",
        "layernorm_mlp_alpha": "scales the residual stream",
        "mlp_intermediate_size": "of the dense channel mixer",
        "mtp_transformer_layers": "training only",
        "num_mtp_modules": "training only",
        "shared_intermediate_size": "routing of the channel mixer",
        "shared_moe_mode": "routing of the channel mixer",
        "swa_rope_theta": "no layer has a window",
        "use_mtp": "training only",
        "use_routing_bias": "routing of the channel mixer",
        "max_model_len": "max_position_embeddings is the limit",
    },
)
