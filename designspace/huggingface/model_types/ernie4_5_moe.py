"""ernie4_5_moe: ernie4_5 with experts; no default head_dim. Source: transformers 5.24, modeling_ernie4_5_moe."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, interleaved, llama_like, one_expert

DEFAULTS = Defaults(
    hidden=2560, layers=28, heads=20, kv_heads=4, inner=12288, vocab=103424, length=131072, theta=500000.0
)


def _stack(config: Config) -> Stack:
    interleaved(config)
    one_expert(config)
    return llama_like(config, "softmax_rope", DEFAULTS, pairing="interleaved")


importer = Importer(
    _stack,
    ignores={
        **NO_WINDOW,
        "moe_capacity": "routing of the channel mixer",
        "moe_dropout_prob": "routing of the channel mixer",
        "moe_gate": "routing of the channel mixer",
        "moe_group": "routing of the channel mixer",
        "moe_k": "routing of the channel mixer",
        "moe_layer_end_index": "routing of the channel mixer",
        "moe_layer_interval": "routing of the channel mixer",
        "moe_layer_start_index": "routing of the channel mixer",
        "moe_multimodal_dispatch_use_allgather": "routing of the channel mixer",
        "moe_norm_min": "routing of the channel mixer",
        "moe_num_experts": "routing of the channel mixer",
        "moe_num_shared_experts": "routing of the channel mixer",
        "moe_use_aux_free": "routing of the channel mixer",
        "moe_use_hard_gate": "routing of the channel mixer",
    },
)
